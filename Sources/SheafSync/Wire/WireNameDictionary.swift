package import SheafBytes
package import SheafDocument

/// The newly numbered names at the start of a segment (`format-spec/sync.md`, table 25).
package enum WireNameDictionary {
    /// Reads names that the sender has numbered.
    private static func read(
        from reader: inout ByteReader, into names: inout NameTable
    ) throws(Malformed) {
        let start = reader.offset
        let count = try reader.readVarint()
        guard count <= UInt64(SyncLimits.names - names.count) else {
            throw .tooLong(
                at: start, length: count, limit: UInt64(SyncLimits.names - names.count))
        }
        for _ in 0..<count {
            let offset = reader.offset
            let name = try reader.readText(limit: NameTable.maximumNameLength)
            guard names.add(Array(name.utf8)) != nil else {
                throw .invalid("a duplicate name", at: offset)
            }
        }
    }

    /// Reads a segment: adds its names to `names`, and returns its commits.
    package static func commits(
        in bytes: UnsafeRawBufferPointer, _ names: inout NameTable
    ) throws(Malformed) -> [ShippedCommit] {
        var reader = ByteReader(bytes)
        try read(from: &reader, into: &names)
        return try ShippedCommit.all(in: &reader)
    }

    /// Writes the number of names, then the names.
    package static func write(_ names: [[UInt8]], into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(names.count))
        for name in names { name.withUnsafeBytes { writer.writeLengthPrefixed($0) } }
    }
}
