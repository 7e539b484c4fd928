import BenchHarness

/// How many bytes something takes, on average; every round finds the same.
final class ByteCountTrial: Trial {
    private let average: Double

    /// `count` tells the bytes of the car with an index.
    init(_ count: (UInt64) throws -> Int) rethrows {
        var sum = 0
        for index in 0..<UInt64(CarTrial.count) { sum += try count(index) }
        average = Double(sum) / Double(CarTrial.count)
    }

    func run(round: Int) -> Sample { Sample(average) }
    func finish() {}
}
