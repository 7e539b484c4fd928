import BenchHarness
import Sheaf

/// Consecutive changes, each of which notifies some observers.
final class FanoutTrial: Trial {
    private let store: FanoutStore
    private let changes: Int
    /// The number of documents changed in turn.
    private let documents: Int
    private let concerned: Int
    private var mileage = 0

    private init(_ store: FanoutStore, changes: Int, documents: Int, concerned: Int) {
        self.store = store
        self.changes = changes
        self.documents = documents
        self.concerned = concerned
    }

    /// Creates a trial with observers of one document each, all different.
    static func points(_ stage: Stage, observers: Int) async throws -> FanoutTrial {
        let store = try await FanoutStore(documents: max(observers, 10_000))
        try await store.observe(
            (0..<observers).map { ("SELECT * FROM cars WHERE _id = :id", ["id": $0]) })
        return FanoutTrial(
            store, changes: stage.scale.pick(4_000, quick: 400), documents: 1, concerned: 1)
    }

    /// Creates a trial with one observer of 1,000 ordered documents.
    static func range(_ stage: Stage) async throws -> FanoutTrial {
        let store = try await FanoutStore(documents: 10_000)
        try await store.observe([
            ("SELECT * FROM cars WHERE n >= 0 AND n < :end ORDER BY n", ["end": 1_000])
        ])
        return FanoutTrial(
            store, changes: stage.scale.pick(4_000, quick: 400), documents: 1_000, concerned: 1)
    }

    /// Returns the median microseconds from a write to the callback.
    func run(round: Int) async throws -> Sample {
        var latencies: [UInt64] = []
        for _ in 0..<changes {
            mileage += 1
            latencies.append(
                try await store.change(
                    mileage % documents, to: mileage, receivedBy: concerned))
        }
        return Sample(FanoutTrial.median(latencies), latencies: latencies)
    }

    func finish() {}

    /// Returns the median in microseconds.
    static func median(_ nanoseconds: [UInt64]) -> Double {
        Double(nanoseconds.sorted()[nanoseconds.count / 2]) / 1_000
    }
}

/// The cost per observer of changes that notify 1,000 observers, compared with one.
final class FanoutAllTrial: Trial {
    private static let observers = 1_000
    private let (one, many): (FanoutStore, FanoutStore)
    private let changes: Int
    private var mileage = 0

    init(_ stage: Stage) async throws {
        changes = stage.scale.pick(400, quick: 40)
        (one, many) = (try await FanoutStore(documents: 100), try await FanoutStore(documents: 100))
        try await one.observe([("SELECT * FROM cars WHERE _id = :id", ["id": 7])])
        try await many.observe(
            (0..<Self.observers).map { _ in ("SELECT * FROM cars WHERE _id = :id", ["id": 7]) })
    }

    /// Returns the microseconds added by each observer after the first.
    func run(round: Int) async throws -> Sample {
        var (alone, together): ([UInt64], [UInt64]) = ([], [])
        for _ in 0..<changes {
            mileage += 1
            alone.append(try await one.change(7, to: mileage, receivedBy: 1))
            together.append(try await many.change(7, to: mileage, receivedBy: Self.observers))
        }
        let difference = FanoutTrial.median(together) - FanoutTrial.median(alone)
        return Sample(difference / Double(Self.observers - 1))
    }

    func finish() {}
}

/// The memory used by observers.
final class FanoutBytesTrial: Trial {
    private static let observers = 10_000

    /// Returns the bytes per observer.
    func run(round: Int) async throws -> Sample {
        let store = try await FanoutStore(documents: 10_000)
        try await store.observe([("SELECT * FROM cars WHERE _id = :id", ["id": 0])])
        let before = allocatedBytes()
        try await store.observe(
            (0..<Self.observers).map { ("SELECT * FROM cars WHERE _id = :id", ["id": $0]) })
        let bytes = allocatedBytes() - before
        try await store.close()
        return Sample(Double(bytes) / Double(Self.observers))
    }

    func finish() {}
}
