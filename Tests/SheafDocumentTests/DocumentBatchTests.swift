import SheafBytes
import SheafDocument
import Testing

/// Documents that are opened together.
@Suite struct DocumentBatchTests {
    private let names = NameTable()

    private func stamp(_ time: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: 7))
    }

    /// Returns the payload of a document, or of its tombstone.
    private func payload(_ number: Int, isDeleted: Bool) throws -> [UInt8] {
        let object: Object = ["n": .integer(Int64(number))]
        let state = try Insertion.document(object, at: stamp(5), names)
        guard isDeleted else { return DocumentPayload.encode(state: state) }
        let tombstone = try state.withUnsafeBytes { state in
            try Insertion.deletion(
                of: state, at: stamp(9), base: try EncodedDocument(state).vector())
        }
        return DocumentPayload.encode(state: try #require(tombstone))
    }

    /// Opens payloads; returns the numbers of the remaining documents by their index.
    private func open(_ payloads: [[UInt8]], in batch: DocumentBatch) throws -> [Int: Value] {
        let bytes = Array(payloads.joined())
        return try bytes.withUnsafeBytes { bytes in
            var stored: [StoredBytes] = []
            var start = 0
            for payload in payloads {
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + payload.count])
                stored.append(StoredBytes(key: part, payload: part, pointer: 0))
                start += payload.count
            }
            try stored.withUnsafeBufferPointer { try batch.open($0, where: nil) }
            var found: [Int: Value] = [:]
            for index in batch.left {
                found[Int(index)] = try batch.fields[Int(index)].value(of: "n", names)
            }
            return found
        }
    }

    @Test func `a batch has the existing documents of the last payloads, and none before`() throws {
        let batch = DocumentBatch()
        #expect(batch.left.isEmpty)
        let payloads = try (0..<6).map { try payload($0, isDeleted: $0 % 3 == 1) }
        #expect(try open(payloads, in: batch) == [0: 0, 2: 2, 3: 3, 5: 5])
        #expect(batch.left.elementsEqual([0, 2, 3, 5]))
        #expect(try open(Array(payloads.suffix(2)), in: batch) == [1: 5])
        #expect(try open([], in: batch).isEmpty)
        #expect(batch.left.isEmpty)
    }
}
