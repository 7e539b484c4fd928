import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// The join of documents in bytes, against its laws and against the model.
@Suite struct JoinTests {
    private let firstSeed: UInt64 = 4_000

    @Test(arguments: MergeRow.table)
    func `writes that did not see each other merge as the table says`(_ row: MergeRow) {
        #expect(row.failures(of: BytesDocument.self) == [])
    }

    @Test(arguments: [0, 3, 7])
    func `histories in bytes are those of the model`(_ nameCount: Int) throws {
        let all = ["b", "x", "q", "a", "", "cafe\u{301}", "y"]
        let names = try #require(NameTable(Array(all.prefix(nameCount))))
        for seed in firstSeed..<firstSeed + 40 {
            var history = ModelHistory(seed: seed, peers: 2 + Int(seed % 3))
            var documents = Array(
                repeating: BytesDocument(nil, names), count: history.documents.count)
            for number in 0..<60 {
                let step = history.next()
                step.apply(to: &documents)
                for (peer, document) in documents.enumerated() {
                    document.validate()
                    guard document.dump == history.documents[peer].dump else {
                        Issue.record("seed \(seed), step \(number): \(step)")
                        #expect(document.dump == history.documents[peer].dump)
                        return
                    }
                    #expect(document.value == history.documents[peer].value, "seed \(seed)")
                }
            }
        }
    }
}
