package import SheafBytes

/// The site as the log has it (`format-spec/commits.md`, table 1).
extension Site {
    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        self.init(rawValue: try reader.readUInt64())
        guard reader.remaining == 0 else {
            throw .invalid("something behind the site", at: reader.offset)
        }
        guard self != .initial else { throw .invalid("a site that is zero", at: 0) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 8)
        writer.write(rawValue)
        return writer.bytes
    }
}
