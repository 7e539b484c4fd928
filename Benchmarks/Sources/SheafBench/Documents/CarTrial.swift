import BenchHarness
import SheafDocument

/// Does one thing with each of some cars, again and again.
final class CarTrial: Trial {
    private let repetitions: Int
    private let work: (Int) throws -> Int

    /// How many cars are different.
    static let count = 2_000

    /// `work` takes the index of a car, and returns something that depends on all that it did.
    init(_ stage: Stage, repetitions: Int, _ work: @escaping (Int) throws -> Int) {
        self.repetitions = stage.scale.pick(repetitions, quick: max(repetitions / 5, 1))
        self.work = work
    }

    /// Cars in a second.
    func run(round: Int) throws -> Sample {
        let start = now()
        for _ in 0..<repetitions {
            for index in 0..<Self.count { sink(UInt64(try work(index))) }
        }
        return Sample(Double(Self.count * repetitions) / seconds(since: start))
    }

    func finish() {}
}
