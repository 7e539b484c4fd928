package import SheafBytes

/// The latest time of a store's clock, as stored in the log (`format-spec/commits.md`, table 1).
extension HybridTime {
    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        self.init(rawValue: try reader.readUInt64())
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the time of a clock", at: reader.offset)
        }
        guard counter != 0 else { throw .invalid("a time of the clock with a zero counter", at: 0) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(rawValue)
        return writer.bytes
    }
}
