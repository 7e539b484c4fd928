import SheafDocumentLives
import Testing

/// Random lives of stores that exchange what they wrote; `sheaf-merges` has more.
@Suite struct DocumentHistoryTests {
    @Test func `documents by their chains are those of the model, and so is what changed`() throws {
        let firstSeed: UInt64 = 7_000
        var pasts = 0
        for seed in firstSeed..<firstSeed + 4 {
            pasts += try DocumentLives.run(seed: seed, steps: 80).pasts
        }
        #expect(pasts > 200)
    }
}
