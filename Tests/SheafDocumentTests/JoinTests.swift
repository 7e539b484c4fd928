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

    @Test func `what many sites have written to one field stays until it is seen`() throws {
        let documents = (1...200).map { number in
            var document = BytesDocument()
            let time = HybridTime(rawValue: UInt64(number % 7 + 1))
            document.insert(
                ["x": .integer(Int64(number))], stamp: Stamp(time, Site(rawValue: UInt64(number))))
            return document
        }
        let half = documents[..<120].reduce(BytesDocument()) { $0.joined(with: $1) }
        let other = documents[80...].reversed().reduce(BytesDocument()) { $0.joined(with: $1) }
        var all = half.joined(with: other)
        #expect(all == other.joined(with: half) && all.joined(with: half) == all)
        all.validate()
        #expect(all.dump.count { $0.hasPrefix("/x|value|") } == 200)
        all.apply(
            [.set(path: ["x"], to: 0)], stamp: Stamp(HybridTime(rawValue: 9), Site(rawValue: 7)))
        #expect(all.joined(with: half) == all && half.joined(with: all) == all)
        #expect(all.dump.count { $0.hasPrefix("/x|value|") } == 1)
    }
}
