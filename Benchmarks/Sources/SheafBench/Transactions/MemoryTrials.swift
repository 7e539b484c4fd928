import BenchHarness
import BenchStores
import Sheaf
import SheafDocument
import Synchronization

/// The memory of the documents of an open store, most of which is the tree.
final class DocumentMemoryTrial: Trial {
    private let stage: Stage
    private let cars: PreparedCars

    init(_ stage: Stage) throws {
        self.stage = stage
        cars = try PreparedCars(0..<stage.scale.pick(PreparedCars.count, quick: 20_000))
    }

    /// Returns the bytes per document, with the entries of two indexes.
    func run(round: Int) async throws -> Sample {
        let directory = "\(stage.memory.path)/memory-\(round)"
        let store = try await MemoryTrials.open(directory)
        let before = allocatedBytes()
        try await MemoryTrials.insert(cars, into: store)
        let bytes = allocatedBytes() - before
        try await store.close()
        return Sample(Double(bytes) / Double(cars.ids.count))
    }

    func finish() {}
}

/// The highest memory of a transaction that updates all documents in one statement.
final class UpdateMemoryTrial: Trial {
    private let stage: Stage
    private let count: Int

    init(_ stage: Stage) throws {
        self.stage = stage
        count = stage.scale.pick(1_000_000, quick: 100_000)
    }

    /// Returns the megabytes that the transaction adds at most.
    func run(round: Int) async throws -> Sample {
        let store = try await MemoryTrials.open("\(stage.memory.path)/update-\(round)")
        let length = 50_000
        for start in stride(from: 0, to: count, by: length) {
            let cars = try PreparedCars(start..<min(start + length, count))
            try await MemoryTrials.insert(cars, into: store)
        }
        let before = allocatedBytes()
        let peak = Mutex(before)
        let sampler = Task.detached {
            while !Task.isCancelled {
                let bytes = allocatedBytes()
                peak.withLock { $0 = max($0, bytes) }
                try? await Task.sleep(for: .milliseconds(2))
            }
        }
        try await store.execute("UPDATE cars SET mileage = mileage + 1")
        sampler.cancel()
        await sampler.value
        try await store.close()
        return Sample(Double(peak.withLock { $0 } - before) / 1_000_000)
    }

    func finish() {}
}

private enum MemoryTrials {
    /// Opens a new store in memory with two indexes on cars.
    static func open(_ directory: String) async throws -> Sheaf.Store {
        let store = try await Sheaf.Store.open(
            at: "\(directory).sheaf",
            options: Sheaf.StoreOptions(durability: .relaxed(milliseconds: 100)))
        try await store.execute("CREATE INDEX mileage ON cars (mileage)")
        try await store.execute("CREATE INDEX year ON cars (year, color)")
        return store
    }

    /// Inserts cars in transactions of 1,000.
    static func insert(_ cars: PreparedCars, into store: Sheaf.Store) async throws {
        for start in stride(from: 0, to: cars.values.count, by: 1_000) {
            try await store.transaction { transaction in
                for car in cars.values[start..<min(start + 1_000, cars.values.count)] {
                    try await transaction.execute(
                        SheafCarQueries.insert, QueryArguments(["car": car]))
                }
                return .commit
            }
        }
    }
}
