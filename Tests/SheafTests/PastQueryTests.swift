import SheafQueryModel
import SheafStatements
import SheafTestSupport
import Testing

/// Statements AS OF earlier commits; `.ci/run` runs more histories.
@Suite struct PastQueryTests {
    @Test(arguments: [1, 100, 10_000] as [UInt64])
    func `statements return the results of earlier commits`(_ seed: UInt64) throws {
        var differences = PastDifferences(seed: seed)
        try differences.run(histories: 5)
        #expect(differences.tally.commits > 90, "seed \(seed)")
        #expect(differences.tally.forgotten > 5, "seed \(seed)")
    }
}
