package import SheafBytes
package import SheafDocument

/// What the bytes of a segment begin with: names that have numbers on the connection from then on
/// (`format-spec/sync.md`, table 5).
package enum SpokenNames {
    /// Takes in names that the other side has given numbers.
    package static func read(
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
}
