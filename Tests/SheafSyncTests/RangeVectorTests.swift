import SheafBytes
import SheafSync
import SheafTestSupport
import Testing

/// Range requests, range responses and sketches against the vectors.
struct RangeVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    @Test func `version lists have the sums of the vectors`() throws {
        try vectors.forEach("list") { name, bytes in
            var documents: [DocumentVersion] = []
            try bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                while reader.remaining > 0 {
                    let id = Array(try reader.readLengthPrefixed(limit: 1_024))
                    documents.append(DocumentVersion(id: id, version: try reader.readUInt64()))
                }
            }
            var responder = RangeResponder(VersionList(sorted: documents))
            guard case .children(let children) = try responder.answer(RangeQuestion([])).parts.first
            else {
                Issue.record("the first response has no child")
                return
            }
            #expect(children.count == 1)
            #expect(children[0].upper == nil)
            let expected = try vectors.number("\(name).sum")
            #expect(children[0].sum == expected)
        }
    }

    @Test func `sketches have the cells of the vectors`() throws {
        try vectors.forEach("versions") { name, bytes in
            let third = Int(try vectors.number("\(name).third"))
            var sketch = VersionSketch(third: third)
            try bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                while reader.remaining > 0 { sketch.add(try reader.readUInt64()) }
            }
            let expected = try vectors.bytes("\(name).answer")
            #expect(RangeAnswer([.sketch(sketch)]).bytes == expected)
        }
    }

    @Test func `range requests and responses match the vectors, and bad ones are refused`() throws {
        func question(_ bytes: [UInt8]) throws -> RangeQuestion {
            try bytes.withUnsafeBytes { try RangeQuestion(decoding: $0) }
        }
        func answer(_ bytes: [UInt8]) throws -> RangeAnswer {
            try bytes.withUnsafeBytes { try RangeAnswer(decoding: $0) }
        }
        try vectors.forEach("question") { _, bytes in
            let written = try question(bytes).bytes
            #expect(written == bytes)
        }
        try vectors.forEach("answer") { _, bytes in
            let written = try answer(bytes).bytes
            #expect(written == bytes)
        }
        #expect(try question(vectors.bytes("later.question")) == RangeQuestion([1, 2, 300]))
        let sketched = try question(vectors.bytes("sketched.question"))
        #expect(sketched == RangeQuestion([0, 5], sketch: 11))
        try vectors.forEach("refusedQuestion") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try question(bytes) }
        }
        try vectors.forEach("refusedAnswer") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try answer(bytes) }
        }
    }
}
