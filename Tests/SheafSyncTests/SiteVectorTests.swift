import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// The vectors of what peers exchange about their sites.
struct SiteVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    @Test func `a forgotten write is that of the vectors, and other bytes are refused`() throws {
        func write(_ bytes: [UInt8]) throws -> ForgottenWrite {
            try bytes.withUnsafeBytes { try ForgottenWrite(decoding: $0) }
        }
        let bytes = try vectors.bytes("forgotten.forgotten")
        let said = try write(bytes)
        #expect(said.bytes == bytes)
        #expect(said.site.rawValue == (try vectors.number("forgotten.site")))
        #expect(said.time?.rawValue == (try vectors.number("forgotten.time")))
        let site = try vectors.bytes("site.newSite")
        #expect(NewSite.bytes(try site.withUnsafeBytes { try NewSite.decode($0) }) == site)
        try vectors.forEach("refusedSite") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try NewSite.decode($0) }
            }
        }
        try vectors.forEach("refusedForgotten") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try write(bytes) }
        }
    }
}
