package import SheafBytes
package import SheafDocument
package import SheafStorage

/// The definition of an index, with its number (`format-spec/commits.md`, table 4).
package struct IndexDefinition: Sendable {
    /// A path by which an index is sorted.
    package typealias Field = IndexDescription.Field

    /// The number of the collection.
    package let collection: UInt16
    /// The number of the index within its collection; it is reused after the index was dropped.
    package let number: UInt16
    package let name: String
    package let fields: [Field]
    /// The index as the query planner sees it, if all its entries are complete.
    package let description: IndexDescription
    /// The range of the incomplete entries.
    package let incompleteEntries: KeyRange
    /// The commit that created the index; snapshots of older commits do not show it.
    let since: CommitID

    package static let maximumIndexes = 64
    package static let maximumFields = 16
    package static let maximumNameLength = 1_024
    package static let maximumPathLength = Value.maximumDepth
    /// Maximum length of an encoded definition.
    package static let maximumLength = 1 << 16
    /// The first byte of a payload; other values are reserved for other kinds of indexes.
    private static let kind: UInt8 = 1

    package init(
        collection: UInt16, number: UInt16, name: String, fields: [Field], since: CommitID = 0
    ) {
        self.collection = collection
        self.number = number
        self.name = name
        self.fields = fields
        self.since = since
        description = IndexDescription(
            name: name, fields: fields,
            keyPrefix: IndexEntry.prefix(of: collection, number, .complete), irregularKeys: nil)
        incompleteEntries = IndexEntry.incompleteRange(collection: collection, number: number)
    }

    /// Whether each field is sorted in descending order.
    package var isDescending: [Bool] { fields.map(\.isDescending) }

    /// The key of the definition in the log.
    package var key: [UInt8] { StoreKey.index(collection: collection, number: number).bytes }

    /// The encoded definition.
    package var payload: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        func write(_ text: String) {
            var text = text
            text.withUTF8 { writer.writeLengthPrefixed(UnsafeRawBufferPointer($0)) }
        }
        writer.write(Self.kind)
        write(name)
        writer.writeVarint(UInt64(fields.count))
        for field in fields {
            writer.write(field.isDescending ? 1 : 0 as UInt8)
            writer.writeVarint(UInt64(field.path.count))
            for step in field.path { write(step) }
        }
        return writer.bytes
    }

    /// Decodes a definition.
    package init(
        collection: UInt16, number: UInt16, decoding bytes: UnsafeRawBufferPointer
    ) throws(Malformed) {
        guard bytes.count <= Self.maximumLength else {
            throw .tooLong(
                at: 0, length: UInt64(bytes.count), limit: UInt64(Self.maximumLength))
        }
        var reader = ByteReader(bytes)
        let kind = try reader.readUInt8()
        guard kind == Self.kind else { throw .unexpected(kind, at: 0) }
        let name = try Self.readText(&reader, limit: Self.maximumNameLength)
        guard !name.isEmpty else { throw .invalid("an index without a name", at: 1) }
        let fields = try Self.readFields(&reader)
        guard reader.remaining == 0 else {
            throw .invalid("trailing bytes after the index", at: reader.offset)
        }
        self.init(collection: collection, number: number, name: name, fields: fields)
    }

    private static func readFields(_ reader: inout ByteReader) throws(Malformed) -> [Field] {
        var fields: [Field] = []
        for _ in 0..<(try readCount(&reader, limit: maximumFields)) {
            let direction = try reader.readUInt8()
            guard direction <= 1 else { throw .unexpected(direction, at: reader.offset - 1) }
            var path: [String] = []
            for _ in 0..<(try readCount(&reader, limit: maximumPathLength)) {
                path.append(try readText(&reader, limit: maximumLength))
            }
            fields.append(Field(path, isDescending: direction == 1))
        }
        return fields
    }

    private static func readCount(
        _ reader: inout ByteReader, limit: Int
    ) throws(Malformed) -> Int {
        let start = reader.offset
        let count = try reader.readVarint()
        guard count > 0 else { throw .invalid("a list without elements", at: start) }
        guard count <= UInt64(limit) else {
            throw .tooLong(at: start, length: count, limit: UInt64(limit))
        }
        return Int(count)
    }

    private static func readText(
        _ reader: inout ByteReader, limit: Int
    ) throws(Malformed) -> String {
        let start = reader.offset
        let bytes = try reader.readLengthPrefixed(limit: limit)
        // Repairing invalid UTF-8 would produce a different name.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .notText(at: start)
        }
        return text
    }
}
