import BenchHarness

/// The average size of an encoded car; every round returns the same value.
final class ByteCountTrial: Trial {
    private let average: Double

    /// Creates a trial, where `count` returns the number of bytes of the car at an index.
    init(_ count: (UInt64) throws -> Int) rethrows {
        var sum = 0
        for index in 0..<UInt64(CarTrial.count) { sum += try count(index) }
        average = Double(sum) / Double(CarTrial.count)
    }

    func run(round: Int) -> Sample { Sample(average) }
    func finish() {}
}
