package import SheafBytes
package import SheafDocument

/// What the bytes of a segment begin with: names that have numbers on the connection from then on
/// (`format-spec/sync.md`, table 5).
package enum SpokenNames {
    /// Takes in names that the other side has given numbers.
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
                throw .invalid("a name that comes twice", at: offset)
            }
        }
    }

    /// Reads what a segment says: names, and commits in their numbers.
    package static func commits(
        in bytes: UnsafeRawBufferPointer, _ names: inout NameTable
    ) throws(Malformed) -> [ShippedCommit] {
        var reader = ByteReader(bytes)
        try read(from: &reader, into: &names)
        return try ShippedCommit.all(in: &reader)
    }

    /// Tells names that have got numbers.
    package static func write(_ names: [[UInt8]], into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(names.count))
        for name in names { name.withUnsafeBytes { writer.writeLengthPrefixed($0) } }
    }
}
