import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Messages about sites, tested against `format-spec/vectors/sync.txt`.
struct SiteVectorTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("sync.txt")
    }

    @Test func `lost writes, sites and pauses match the vectors, and malformed ones fail`()
        throws
    {
        func write(_ bytes: [UInt8]) throws -> LostWrite {
            try bytes.withUnsafeBytes { try LostWrite(decoding: $0) }
        }
        let bytes = try vectors.bytes("lost-write.lostWrite")
        let decoded = try write(bytes)
        #expect(decoded.bytes == bytes)
        #expect(decoded.site.rawValue == (try vectors.number("lost-write.site")))
        #expect(decoded.time?.rawValue == (try vectors.number("lost-write.time")))
        let site = try vectors.bytes("site.newSite")
        #expect(try site.withUnsafeBytes { try NewSite(decoding: $0) }.bytes == site)
        try vectors.forEach("refusedNewSite") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try NewSite(decoding: $0) }
            }
        }
        let pauses = try vectors.bytes("pauses.sitePauses")
        let known = try pauses.withUnsafeBytes { try SitePauses(decoding: $0) }
        #expect(known.bytes == pauses)
        #expect(known.site.rawValue == (try vectors.number("pauses.site")))
        for (index, pause) in known.pauses.enumerated() {
            #expect(pause.after.rawValue == (try vectors.number("pauses.after\(index + 1)")))
            #expect(pause.before.rawValue == (try vectors.number("pauses.before\(index + 1)")))
        }
        #expect(known.pauses.count == 2)
        try vectors.forEach("refusedSitePauses") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") {
                try bytes.withUnsafeBytes { try SitePauses(decoding: $0) }
            }
        }
        try vectors.forEach("refusedLostWrite") { name, bytes in
            #expect(throws: Malformed.self, "\(name)") { try write(bytes) }
        }
    }
}
