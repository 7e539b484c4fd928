import BenchHarness
import BenchStores
import SheafInspector

/// A caller that inserts one car after the other, durably, while a client receives the changes.
final class InspectedTrial: Trial {
    private let cars: SheafCars
    private let inspector: Inspector?
    private let reader: ChangesReader?
    private let seconds: Double
    /// The number of cars prepared for a round, more than can be inserted in it.
    private let share: Int
    private var commits = 0

    init(_ stage: Stage, isInspected: Bool) async throws {
        seconds = stage.scale.roundSeconds
        share = Int(30_000 * seconds)
        cars = try await SheafCars(stage.disk.path, isDurable: true, hasIndex: false)
        inspector = isInspected ? try await Inspector.start(cars.store) : nil
        reader = try inspector.map { try ChangesReader(url: $0.url) }
    }

    func run(round: Int) async throws -> Sample {
        let prepared = try PreparedCars(round * share..<(round + 1) * share)
        let session = cars.session()
        defer { session.close() }
        var tally = CommitTally(seconds: seconds)
        try await tally.repeatCommits { number in
            guard number < share else {
                throw StoreFailure(description: "too few cars were prepared for a round")
            }
            try await session.insert(prepared, Int(number))
            commits += 1
        }
        try reader?.wait(for: commits)
        return tally.sample
    }

    func finish() async throws {
        await inspector?.stop()
        try await cars.close()
    }
}
