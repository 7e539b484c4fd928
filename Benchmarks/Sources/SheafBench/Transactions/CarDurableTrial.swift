import BenchHarness
import BenchStores
import Synchronization

/// Concurrent callers that each insert one car after the other, durably.
final class CarDurableTrial: Trial {
    private let peer: CarPeer
    private let store: any CarBenchmarkStore
    private let callers: Int
    private let seconds: Double
    /// The number of cars prepared per caller, more than it can insert in a round.
    private let share: Int

    init(_ peer: CarPeer, _ stage: Stage, callers: Int) async throws {
        self.peer = peer
        self.callers = callers
        seconds = stage.scale.roundSeconds
        share = Int(Double(callers == 1 ? 30_000 : callers == 8 ? 12_000 : 6_000) * seconds)
        store = try await peer.open(stage.disk.path, true, false)
    }

    func run(round: Int) async throws -> Sample {
        let first = round * callers * share
        let cars = try PreparedCars(first..<first + callers * share)
        let tallies =
            peer.blocks ? try await runOnThreads(cars) : try await runInTasks(cars)
        var total = CommitTally(seconds: seconds)
        for tally in tallies { total.add(tally) }
        return total.sample
    }

    private func runInTasks(_ cars: PreparedCars) async throws -> [CommitTally] {
        let (store, seconds, share) = (store, seconds, share)
        return try await withThrowingTaskGroup(of: CommitTally.self) { group in
            for caller in 0..<callers {
                let indices = caller * share..<(caller + 1) * share
                group.addTask {
                    try await Self.write(to: store, cars, indices, seconds: seconds)
                }
            }
            var tallies: [CommitTally] = []
            for try await tally in group { tallies.append(tally) }
            return tallies
        }
    }

    private func runOnThreads(_ cars: PreparedCars) async throws -> [CommitTally] {
        guard let store = store as? SQLiteCars else {
            throw StoreFailure(description: "threads require a database with blocking calls")
        }
        let results = Mutex<[Result<CommitTally, any Error>]>([])
        let line = StartLine(callers)
        let (seconds, share) = (seconds, share)
        Threads.run(callers) { caller in
            let indices = caller * share..<(caller + 1) * share
            let result = Result {
                let session = Result { try store.blockingSession() }
                // A thread that failed to open its session still reaches the barrier, or the others
                // would block.
                line.wait()
                return try Self.write(session.get(), cars, indices, seconds: seconds)
            }
            results.withLock { $0.append(result) }
        }
        return try results.withLock { $0 }.map { try $0.get() }
    }

    func finish() async throws {
        try await store.close()
    }

    private static func write(
        to store: any CarBenchmarkStore, _ cars: PreparedCars, _ indices: Range<Int>,
        seconds: Double
    ) async throws -> CommitTally {
        let session = try store.session()
        defer { session.close() }
        var tally = CommitTally(seconds: seconds)
        try await tally.repeatCommits { number in
            try check(number, indices)
            try await session.insert(cars, indices.lowerBound + Int(number))
        }
        return tally
    }

    private static func write(
        _ session: SQLiteCarSession, _ cars: PreparedCars, _ indices: Range<Int>, seconds: Double
    ) throws -> CommitTally {
        defer { session.close() }
        var tally = CommitTally(seconds: seconds)
        try tally.repeatCommits { number in
            try check(number, indices)
            try session.insertBlocking(cars, indices.lowerBound + Int(number))
        }
        return tally
    }

    private static func check(_ number: UInt64, _ indices: Range<Int>) throws {
        guard number < UInt64(indices.count) else {
            throw StoreFailure(description: "too few cars were prepared for a round")
        }
    }
}
