package import SheafBytes

/// How many documents of the other side a peer has set aside, since they are stamped too far ahead of its clock
/// (`format-spec/sync.md`, table 26).
package struct SetAsideNotice: Equatable, Sendable {
    /// 0 where nothing is set aside any more.
    package let count: UInt64
    /// The latest time of a dot in them, in milliseconds since 1970.
    package let latestMilliseconds: UInt64
    /// The clock of the peer, in milliseconds since 1970.
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
