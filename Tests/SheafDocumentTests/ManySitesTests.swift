import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Documents with writes of many sites.
@Suite struct ManySitesTests {
    /// Returns a document whose field `x` was set concurrently by the given number of sites.
    private func document(sites: Int) throws -> [UInt8] {
        var documents = try (1...sites).map { site in
            try Insertion.document(
                ["x": .integer(Int64(site)), "n": 0],
                at: Stamp(HybridTime(rawValue: 10), Site(rawValue: UInt64(site))), NameTable())
        }
        while documents.count > 1 {
            documents = stride(from: 0, to: documents.count, by: 2).map { index in
                index + 1 < documents.count
                    ? BytesDocument.joined(documents[index], documents[index + 1], NameTable())
                    : documents[index]
            }
        }
        return documents[0]
    }

    @Test(arguments: [17, 255, 256, 300, 1_000])
    func `a document of many sites can be joined, edited and validated`(_ sites: Int) throws {
        let bytes = try document(sites: sites)
        var merged = BytesDocument(bytes)
        merged.validate()
        #expect(merged.value == ["n": 0, "x": .integer(Int64(sites))])
        #expect(BytesDocument.joined(bytes, bytes, NameTable()) == bytes)
        let stamp = Stamp(HybridTime(rawValue: 20), Site(rawValue: 1))
        merged.apply([.set(path: ["x"], to: "last")], stamp: stamp)
        merged.validate()
        #expect(merged.value == ["n": 0, "x": "last"])
        let again = merged.joined(with: BytesDocument(bytes))
        #expect(again == merged)
        let renamed = try bytes.withUnsafeBytes { bytes in
            let names = try #require(NameTable(["x"]))
            return try EncodedDocument(bytes).renamed(from: NameTable(), to: names)
        }
        let back = try renamed.withUnsafeBytes { bytes in
            let names = try #require(NameTable(["x"]))
            return try EncodedDocument(bytes).renamed(from: names, to: NameTable())
        }
        #expect(back == bytes)
    }
}
