import SheafDocumentSimulations
import Testing

/// Random histories of stores that exchange changes; `.ci/run` runs more of them.
@Suite struct DocumentHistoryTests {
    @Test func `documents and changes read from chains match the model`() throws {
        let firstSeed: UInt64 = 7_000
        var pasts = 0
        for seed in firstSeed..<firstSeed + 2 {
            pasts += try DocumentSimulations.run(seed: seed, steps: 80).pasts
        }
        #expect(pasts > 100)
    }
}
