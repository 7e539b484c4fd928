import SheafBytes

/// An encoder of new documents whose stamp is not known yet.
///
/// Documents can then be encoded before the transaction that inserts them begins. All entries share
/// one stamp, so only the header contains it:
/// ```
/// 0      1       2      3      11     19
/// flags  length  sites  site   time   entries
/// ```
package struct NewDocumentEncoder: ~Copyable {
    /// Offset of the stamp: the site, then the time.
    package static let stampOffset = 3
    private static let placeholder = Stamp(HybridTime(rawValue: 1), Site(rawValue: 1))
    /// The header of a document with one site and references of one byte.
    ///
    /// Its stamp is not INITIAL, which a rewritten document would keep.
    private static let header: [UInt8] =
        [0, UInt8(headerLength), 1] + bytes(of: placeholder)
    private static let headerLength = stampOffset + EncodedHeader.siteLength

    private static func bytes(of stamp: Stamp) -> [UInt8] {
        [stamp.site.rawValue, stamp.time.rawValue].flatMap { number in
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
    }

    private var writer: EntryWriter
    private var instances = SequentialEncoding()
    /// Whether the last JSON object has a field `_id` beside the one that is its id.
    package private(set) var hasOtherID = false

    /// Creates an encoder, which lists the names that documents spell out if `listsNames`.
    package init(listsNames: Bool = true) {
        let vector = VersionVector(Self.placeholder)
        writer = EntryWriter(stamps: StampTable(vector), referenceWidth: 1, capacity: 1 << 12)
        writer.rootStamp = Self.placeholder
        if listsNames { writer.spelledNames = [] }
    }

    /// Whether the last document spells out a field name.
    package var spellsNames: Bool { writer.hasSpelledFields }

    /// The names that the last document spells out, in the order in which they were encoded.
    package var spelledNames: [[UInt8]] { writer.spelledNames ?? [] }

    /// The length of the last document.
    package var length: Int { writer.count }

    /// The last document, valid until the next one is encoded.
    package var bytes: UnsafeRawBufferPointer { writer.bytes }

    /// Appends the last document.
    package borrowing func append(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: writer.bytes)
    }

    /// Encodes a new document, without the field `omitted`, at a stamp.
    package mutating func encode(
        _ object: Object, without omitted: String, at stamp: Stamp, _ names: NameTable
    ) throws(DocumentError) {
        try Insertion.checkDepth(of: object)
        encode(object, without: omitted, names)
        guard length <= EncodedDocument.maximumLength else {
            throw .malformed(
                .tooLong(
                    at: 0, length: UInt64(length), limit: UInt64(EncodedDocument.maximumLength)))
        }
        writer.buffer.withMutableBytes { Self.setStamp(stamp, at: 0, in: $0) }
    }

    /// Encodes an object without one field.
    ///
    /// The caller checks the depth.
    package mutating func encode(_ object: Object, without omitted: String, _ names: NameTable) {
        begin()
        writer.writeFields(object, without: omitted, at: Self.placeholder, names)
    }

    /// Encodes an instance without its field `_id`; returns nil if it needs `ValueEncoder`.
    mutating func encode<T: Encodable>(
        _ source: T, _ coding: ValueCoding, _ names: NameTable
    ) -> FoundID? {
        begin()
        let found: FoundID?
        do {
            let current = instances
            found = withUnsafeMutablePointer(to: &writer) {
                current.encode(source, into: $0, coding, names)
            }
        }
        // An instance has kept its encoder, and may use it on any thread.
        if !isKnownUniquelyReferenced(&instances) { instances = SequentialEncoding() }
        return found
    }

    /// Encodes a JSON object, and returns the value of the field `idName`, which is left out.
    ///
    /// `isValidUTF8` skips the validation of the text.
    package mutating func encode(
        json text: UnsafeRawBufferPointer, idName: [UInt8], _ names: NameTable,
        isValidUTF8: Bool = false
    ) throws(JSONError) -> Value? {
        guard text.count <= JSONReader.maximumLength else {
            throw JSONError(.tooLong(limit: JSONReader.maximumLength), at: 0, in: text)
        }
        if !isValidUTF8, let offset = Self.firstInvalidOffset(text) {
            throw JSONError(.invalidText, at: offset, in: text)
        }
        begin()
        var reader = JSONReader(text: text)
        reader.skipSpace()
        guard reader.current == UInt8(ascii: "{") else {
            // A value of another kind is read for its syntax errors, which come first.
            _ = try JSONReader.read(text)
            throw JSONError(.expected("an object"), at: reader.offset, in: text)
        }
        let id = try reader.encodeFields(into: &writer, without: idName, names)
        hasOtherID = reader.hasOtherID
        reader.skipSpace()
        guard reader.offset == text.count else { throw reader.error(.trailing) }
        return id
    }

    /// Returns the offset of the first bytes that are not UTF-8; nil if there are none.
    private static func firstInvalidOffset(_ text: UnsafeRawBufferPointer) -> Int? {
        text.withMemoryRebound(to: UInt8.self) { bytes in
            do throws(UTF8.ValidationError) {
                _ = try UTF8Span(validating: bytes.span)
                return nil
            } catch {
                return error.byteOffsets.lowerBound
            }
        }
    }

    private mutating func begin() {
        writer.restart()
        Self.header.withUnsafeBytes { writer.write($0) }
        writer.writeReferring(.map, to: Self.placeholder)
    }

    /// Writes the stamp of a document that starts at `offset`.
    package static func setStamp(
        _ stamp: Stamp, at offset: Int, in bytes: UnsafeMutableRawBufferPointer
    ) {
        let start = offset + stampOffset
        precondition(start + EncodedHeader.siteLength <= bytes.count, "The header is complete.")
        bytes.storeBytes(
            of: stamp.site.rawValue.littleEndian, toByteOffset: start, as: UInt64.self)
        bytes.storeBytes(
            of: stamp.time.rawValue.littleEndian, toByteOffset: start + 8, as: UInt64.self)
    }
}

extension EntryWriter {
    /// Removes all content, and keeps the memory and the stamps.
    mutating func restart() {
        let hasNames = hasSpelledFields
        truncate(to: 0)
        fields.removeLast(fields.count)
        (referenceCount, hasSpelledFields, nextNumber) = (0, false, 0)
        if hasNames { spelledNames?.removeAll(keepingCapacity: true) }
    }
}
