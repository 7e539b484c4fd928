import SheafBytes

/// Encoding of JSON without intermediate values, as `EntryWriter.writeFields` encodes objects.
///
/// All fields have the stamp of the root, and so no reference. Objects in arrays are registers, all
/// others are maps. Attachment tokens become maps, too: the caller encodes documents that may
/// contain one as objects.
extension JSONReader {
    /// Encodes the fields of an object; returns the value of the field `idName`, which is left out.
    mutating func encodeFields(
        into writer: inout EntryWriter, without idName: [UInt8]?, _ names: NameTable,
        isRegister: Bool = false
    ) throws(JSONError) -> Value? {
        let start = offset
        try enter()
        let frame = writer.beginObject()
        var id: Value?
        if current == UInt8(ascii: "}") {
            _ = try endsList(with: UInt8(ascii: "}"))
        } else {
            repeat {
                switch try encodeName(into: &writer, idName, names) {
                case .ordinary: break
                case .id:
                    guard id == nil else { throw try duplicate(at: start) }
                    id = try readValue()
                    continue
                case .otherID:
                    hasOtherID = true
                    _ = try readValue()
                    continue
                }
                try encodeValue(into: &writer, names, isRegister: isRegister)
                writer.endField()
            } while try !endsList(with: UInt8(ascii: "}"))
        }
        guard writer.endObject(frame) == nil else { throw try duplicate(at: start) }
        return id
    }

    private enum NameKind {
        case ordinary
        /// The name of the field that becomes the id.
        case id
        /// `_id`, if another field becomes the id.
        case otherID
    }

    /// Reads a name and its colon, and begins a field if it is an ordinary one.
    private mutating func encodeName(
        into writer: inout EntryWriter, _ idName: [UInt8]?, _ names: NameTable
    ) throws(JSONError) -> NameKind {
        guard current == UInt8(ascii: "\"") else {
            throw error(.expected("a name in double quotes"))
        }
        let kind: NameKind
        if let plain = try skipPlainString() {
            kind = begin(UnsafeRawBufferPointer(rebasing: text[plain]), idName, &writer, names)
        } else {
            let spelling = try readEscapedText(from: offset)
            kind = spelling.span.withUnsafeBytes { begin($0, idName, &writer, names) }
        }
        skipSpace()
        guard current == UInt8(ascii: ":") else { throw error(.expected("a colon")) }
        offset += 1
        skipSpace()
        return kind
    }

    private func begin(
        _ spelling: UnsafeRawBufferPointer, _ idName: [UInt8]?, _ writer: inout EntryWriter,
        _ names: NameTable
    ) -> NameKind {
        if let idName {
            if Self.equals(idName, spelling) { return .id }
            if Self.equals(Self.idName, spelling) { return .otherID }
        }
        writer.beginField(spelling, names)
        return .ordinary
    }

    private static let idName = Array("_id".utf8)

    private static func equals(_ name: [UInt8], _ spelling: UnsafeRawBufferPointer) -> Bool {
        name.count == spelling.count
            && name.span.withUnsafeBytes { UTF8Order.compare($0, spelling) == 0 }
    }

    /// Consumes a string without escapes and returns the range of its text.
    ///
    /// Returns nil after the opening quote if the string has escapes, or does not end.
    private mutating func skipPlainString() throws(JSONError) -> Range<Int>? {
        offset += 1
        let start = offset
        skipPlainText()
        guard current == UInt8(ascii: "\"") else {
            offset = start
            return nil
        }
        offset += 1
        return start..<offset - 1
    }

    private mutating func encodeValue(
        into writer: inout EntryWriter, _ names: NameTable, isRegister: Bool
    ) throws(JSONError) {
        switch current {
        case UInt8(ascii: "\""):
            writer.write(.string)
            if let plain = try skipPlainString() {
                writer.write(UnsafeRawBufferPointer(rebasing: text[plain]))
            } else {
                let bytes = try readEscapedText(from: offset)
                bytes.withUnsafeBytes { writer.write($0) }
            }
        case UInt8(ascii: "{"):
            writer.write(isRegister ? .object : .map)
            _ = try encodeFields(into: &writer, without: nil, names, isRegister: isRegister)
        case UInt8(ascii: "["):
            writer.write(.array)
            try encodeElements(into: &writer, names)
        case UInt8(ascii: "t"):
            _ = try readWord("true", .null)
            writer.write(.yes)
        case UInt8(ascii: "f"):
            _ = try readWord("false", .null)
            writer.write(.no)
        default:
            writer.write(try readValue(), names)
        }
    }

    private mutating func encodeElements(
        into writer: inout EntryWriter, _ names: NameTable
    ) throws(JSONError) {
        try enter()
        let frame = writer.beginArray()
        if current == UInt8(ascii: "]") {
            _ = try endsList(with: UInt8(ascii: "]"))
        } else {
            repeat {
                try encodeValue(into: &writer, names, isRegister: true)
                writer.endElement(frame)
            } while try !endsList(with: UInt8(ascii: "]"))
        }
        writer.endArray(frame)
    }

    /// Returns the error for a duplicate name in the object at `start`, with the name.
    private mutating func duplicate(at start: Int) throws(JSONError) -> JSONError {
        offset = start
        // Reading the object into a value throws the error with its name.
        _ = try JSONReader.read(text)
        return error(.expected("distinct names"), at: start)
    }
}
