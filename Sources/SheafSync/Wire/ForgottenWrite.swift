package import SheafBytes
package import SheafDocument

/// The site that a peer writes with from now on, instead of that of its hello (`format-spec/sync.md`, table 28).
package enum NewSite {
    package static func bytes(_ site: Site) -> [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(site.rawValue)
        return writer.bytes
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> Site {
        var reader = ByteReader(bytes)
        let site = Site(rawValue: try reader.readUInt64())
        guard site != .initial else { throw .invalid("a site that is zero", at: 0) }
        try reader.checkEnd()
        return site
    }
}

/// A peer that knows a write that the receiver has made and does not have, or another peer that writes with the
/// site of the receiver (`format-spec/sync.md`, table 27).
package struct ForgottenWrite: Equatable, Sendable {
    /// The site of the receiver.
    package let site: Site
    /// The time of the write, which lies in a pause of the receiver; nil where another peer has its site.
    package let time: HybridTime?

    package init(site: Site, time: HybridTime?) {
        self.site = site
        self.time = time
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.write(site.rawValue)
        writer.write(time?.rawValue ?? 0)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        site = Site(rawValue: try reader.readUInt64())
        let time = try reader.readUInt64()
        self.time = time == 0 ? nil : HybridTime(rawValue: time)
        try reader.checkEnd()
    }
}
