package import SheafBytes

/// Periods in which a site made no writes (`format-spec/sync.md`, table 31).
package struct SitePauses: Equatable, Sendable {
    package let site: Site
    package let pauses: [WritePause]

    package init(site: Site, pauses: [WritePause]) {
        self.site = site
        self.pauses = pauses
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 8 + 16 * pauses.count)
        writer.write(site.rawValue)
        writer.write(pauses)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        site = Site(rawValue: try reader.readUInt64())
        guard site != .initial else { throw .invalid("a zero site", at: 0) }
        pauses = try reader.readPauses()
        guard !pauses.isEmpty else { throw .invalid("a site without pauses", at: reader.offset) }
    }
}
