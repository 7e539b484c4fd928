package import SheafBytes
package import SheafDocument

/// The site of a peer's further writes (`format-spec/sync.md`, table 28).
package struct NewSite: UnsolicitedMessage, Equatable {
    package static let type = FrameType.site

    package let site: Site

    package init(site: Site) {
        self.site = site
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(site.rawValue)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        site = Site(rawValue: try reader.readUInt64())
        guard site != .initial else { throw .invalid("a zero site", at: 0) }
        try reader.checkEnd()
    }
}

/// A report of lost writes or of a duplicate site (`format-spec/sync.md`, table 27).
///
/// The sender knows a write that the receiver made and does not have, or another peer that writes
/// with the receiver's site.
package struct LostWrite: UnsolicitedMessage, Equatable {
    package static let type = FrameType.lostWrite

    /// The site of the receiver.
    package let site: Site
    /// The time of the write, which lies in a pause of the receiver; nil for a duplicate site.
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
