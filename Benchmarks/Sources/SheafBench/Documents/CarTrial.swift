import BenchHarness
import SheafDocument

/// A repeated operation on each of 2,000 cars.
final class CarTrial: Trial {
    private let repetitions: Int
    private let work: (Int) throws -> Int

    /// The number of distinct cars.
    static let count = 2_000

    /// Creates a trial whose `work` returns a value that depends on its result for a car.
    init(_ stage: Stage, repetitions: Int, _ work: @escaping (Int) throws -> Int) {
        self.repetitions = stage.scale.pick(repetitions, quick: max(repetitions / 5, 1))
        self.work = work
    }

    /// Returns the number of cars per second.
    func run(round: Int) throws -> Sample {
        let start = now()
        for _ in 0..<repetitions {
            for index in 0..<Self.count { sink(UInt64(try work(index))) }
        }
        return Sample(Double(Self.count * repetitions) / seconds(since: start))
    }

    func finish() {}
}
