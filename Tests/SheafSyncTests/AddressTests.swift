import SheafDocument
import SheafSync
import Testing

/// Unicode-equivalent names in document addresses and queries.
@Suite struct AddressTests {
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"

    @Test func `collections with Unicode-equivalent names stay distinct on the wire`() throws {
        #expect(composed == decomposed)
        let addresses = [composed, decomposed].map { DocumentAddress(collection: $0, id: [1]) }
        #expect(addresses[0] != addresses[1])
        #expect(Set(addresses).count == 2)
        #expect((addresses[0] < addresses[1]) != (addresses[1] < addresses[0]))
        let bytes = Want(generation: 1, .some(addresses, isContinued: false)).bytes
        let want = try bytes.withUnsafeBytes { try Want(decoding: $0) }
        guard case .some(let read, _) = want.documents else {
            Issue.record("all documents are wanted")
            return
        }
        #expect(read == addresses)
    }

    @Test func `queries that differ only in normalization are distinct`() {
        let queries = [composed, decomposed].map {
            SubscribedQuery(text: "SELECT * FROM \($0)", arguments: [])
        }
        #expect(Set(queries).count == 2)
    }
}
