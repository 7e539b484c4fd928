package import SheafBytes

/// The position after a row of an import's source.
package struct ImportPosition: Hashable, Sendable {
    /// Where the next row begins, in units of the source: bytes of a file, or a row id.
    package var offset: UInt64
    /// Number of the next row, or of its line in a text, starting at 1.
    package var row: UInt64
    /// XXH3-64 of the bytes before the offset, which a continued import compares; 0 if the offset
    /// is a row id.
    package var hash: UInt64

    package init(offset: UInt64 = 0, row: UInt64 = 1, hash: UInt64 = 0) {
        self.offset = offset
        self.row = row
        self.hash = hash
    }
}

/// The progress of an unfinished import (`format-spec/commits.md`, table 6).
///
/// Each commit with rows of the import has it, so that the import can continue after a crash.
package struct ImportProgress: Hashable, Sendable {
    package let collection: String
    /// Name of the source, for messages.
    package let source: String
    package var position: ImportPosition
    /// Number of documents written.
    package var importedCount: UInt64
    /// Number of rows without a document, because of an error.
    package var badRowCount: UInt64

    /// Maximum lengths of the name of a source, and of that of a collection.
    package static let maximumNameLength = 255
    private static let maximumCollectionLength = DocumentAddress.maximumCollectionLength

    package init(
        collection: String, source: String, position: ImportPosition = ImportPosition(),
        importedCount: UInt64 = 0, badRowCount: UInt64 = 0
    ) {
        self.collection = collection
        self.source = source
        self.position = position
        self.importedCount = importedCount
        self.badRowCount = badRowCount
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        collection = try reader.readText(limit: Self.maximumCollectionLength)
        source = try reader.readText(limit: Self.maximumNameLength)
        position = ImportPosition(
            offset: try reader.readUInt64(), row: try reader.readUInt64(),
            hash: try reader.readUInt64())
        importedCount = try reader.readUInt64()
        badRowCount = try reader.readUInt64()
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the progress of an import", at: reader.offset)
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.writeText(collection)
        writer.writeText(source)
        for number in [
            position.offset, position.row, position.hash, importedCount, badRowCount,
        ] { writer.write(number) }
        return writer.bytes
    }
}
