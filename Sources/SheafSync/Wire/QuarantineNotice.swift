package import SheafBytes

/// A report on the documents that a peer has quarantined (`format-spec/sync.md`, table 26).
///
/// Quarantined documents have stamps too far ahead of the peer's clock.
package struct QuarantineNotice: UnsolicitedMessage, Equatable {
    package static let type = FrameType.quarantine

    /// Number of quarantined documents; 0 reports that none are left.
    package let count: UInt64
    /// Latest time of a dot in these documents, in milliseconds since 1970.
    package let latestMilliseconds: UInt64
    /// Wall clock of the peer, in milliseconds since 1970.
    package let wallMilliseconds: UInt64

    package init(count: UInt64, latestMilliseconds: UInt64, wallMilliseconds: UInt64) {
        self.count = count
        self.latestMilliseconds = latestMilliseconds
        self.wallMilliseconds = wallMilliseconds
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 24)
        writer.writeVarint(count)
        writer.write(latestMilliseconds)
        writer.write(wallMilliseconds)
        return writer.bytes
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        count = try reader.readVarint()
        latestMilliseconds = try reader.readUInt64()
        wallMilliseconds = try reader.readUInt64()
        try reader.checkEnd()
    }
}
