import BenchHarness
import BenchStores
import SheafDocument

/// The evaluation of one predicate on a million documents, on one core.
final class ScanTrial: Trial {
    private let lot: CarFixture
    private let scansWords: Bool

    /// Encodes the documents; with `scansWords`, a round only reads their bytes.
    init(_ stage: Stage, scansWords: Bool) throws {
        lot = try CarFixture(count: stage.scale.pick(1_000_000, quick: 200_000))
        self.scansWords = scansWords
    }

    /// Returns millions of documents per second.
    func run(round: Int) throws -> Sample {
        let repetitions = 5
        let start = now()
        for _ in 0..<repetitions {
            if scansWords {
                sink(lot.sum())
            } else {
                let filter = FieldFilter.all([
                    .compare(FieldPath(["color"], in: Cars.names), .equal, "blue", Cars.names),
                    .compare(FieldPath(["mileage"], in: Cars.names), .greater, 5_000, Cars.names),
                ])
                sink(UInt64(try lot.count(where: filter)))
            }
        }
        return Sample(Double(lot.count * repetitions) / seconds(since: start) / 1e6)
    }

    func finish() {}
}
