import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Notices about refused documents, tested against `format-spec/vectors/sync.txt`.
struct RefusedVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    @Test func `notices about refused documents match the vectors`() throws {
        func notice(_ bytes: [UInt8]) throws -> RefusedNotice {
            try bytes.withUnsafeBytes { try RefusedNotice(decoding: $0) }
        }
        for name in ["refused", "refused-more"] {
            let bytes = try vectors.bytes("\(name).refused")
            let decoded = try notice(bytes)
            #expect(decoded.bytes == bytes)
            #expect(decoded.generation == (try vectors.number("\(name).generation")))
            #expect(decoded.commit == (try vectors.number("\(name).commit")))
            #expect(UInt64(decoded.reason.rawValue) == (try vectors.number("\(name).reason")))
            #expect(decoded.omitted == (try vectors.number("\(name).omitted")))
            #expect(UInt64(decoded.addresses.count) == (try vectors.number("\(name).count")))
        }
        try vectors.forEach("refusedRefused") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try notice(bytes) }
        }
    }
}
