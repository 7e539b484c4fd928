import SheafQueryModel
import Testing

/// Statements compared with a naive evaluator; `.ci/run` runs more of them.
@Suite struct QueryModelTests {
    @Test(arguments: [11, 222] as [UInt64])
    func `each query returns the rows of the naive evaluator`(_ seed: UInt64) throws {
        var differences = QueryDifferences(seed: seed)
        try differences.run(queries: 450, partitions: 30)
        #expect(differences.tally.queries >= 450, "seed \(seed)")
        // Most statements must succeed to be compared.
        #expect(differences.tally.failed + differences.tally.refused < 90, "seed \(seed)")
    }

    @Test(arguments: [7, 88] as [UInt64])
    func `each observer has the result of its query when the store is idle`(_ seed: UInt64) throws {
        var differences = ObservedDifferences(seed: seed)
        try differences.run(pairs: 1_000)
        #expect(differences.tally.maintained > 30, "seed \(seed)")
    }

    @Test func `damaged statements either run or are refused`() throws {
        var statements = DamagedStatements(seed: 4)
        try statements.run(400)
        #expect(statements.tally.run > 20)
        #expect(statements.tally.refused > 200)
    }

    @Test(arguments: [5, 66] as [UInt64])
    func `interpolated, named and literal values produce equal results`(_ seed: UInt64) throws {
        var differences = ArgumentDifferences(seed: seed)
        try differences.run(400)
        #expect(differences.tally.values > 2_000, "seed \(seed)")
        #expect(differences.tally.written > 280, "seed \(seed)")
        #expect(differences.tally.failed < 60, "seed \(seed)")
    }
}
