import SheafBytes

/// Reading a JSON text into the bytes of a document, without values in between.
extension JSONReader {
    /// The state of a new document, whose fields are those of an object in JSON.
    ///
    /// Objects in it are maps.
    package static func readDocument(
        _ text: UnsafeRawBufferPointer, at stamp: Stamp, _ names: NameTable
    ) throws(JSONError) -> [UInt8] {
        if let document = try? Insertion.document(
            at: stamp, noting: stamp, capacity: text.count + 64,
            { (writer) throws(Malformed) in
                guard write(text, into: &writer, at: stamp, names) else {
                    throw .invalid("what is no object", at: 0)
                }
            })
        {
            return document
        }
        // What is wrong, and where, is found by going the long way.
        guard case .object(let object) = try read(text) else {
            throw JSONError(.expected("an object"), at: 0, in: text)
        }
        do throws(EditError) {
            return try Insertion.document(object, at: stamp, names)
        } catch {
            throw JSONError(.tooLong(limit: EncodedDocument.maximumLength), at: 0, in: text)
        }
    }

    /// Writes the fields of the object that a text is; false where it is none.
    private static func write(
        _ text: UnsafeRawBufferPointer, into writer: inout EntryWriter, at stamp: Stamp,
        _ names: NameTable
    ) -> Bool {
        // What stands between two quotes of a text that is UTF-8 is UTF-8, too.
        guard text.count <= maximumLength, isUTF8(text) else { return false }
        var reader = JSONReader(text: text)
        do throws(JSONError) {
            reader.skipSpace()
            try reader.writeFields(into: &writer, at: stamp, names)
            reader.skipSpace()
            return reader.offset == text.count
        } catch {
            return false
        }
    }

    /// Writes an object: as a map where there is a stamp, and as a value otherwise.
    private mutating func writeFields(
        into writer: inout EntryWriter, at stamp: Stamp?, _ names: NameTable
    ) throws(JSONError) {
        guard current == UInt8(ascii: "{") else { throw error(.expected("an object")) }
        try enter()
        let frame = writer.beginObject()
        if current == UInt8(ascii: "}") {
            _ = try endsList(with: UInt8(ascii: "}"))
        } else {
            repeat {
                guard current == UInt8(ascii: "\"") else {
                    throw error(.expected("a name in double quotes"))
                }
                try readText { writer.beginField($0, names) }
                skipSpace()
                guard current == UInt8(ascii: ":") else { throw error(.expected("a colon")) }
                offset += 1
                skipSpace()
                try writeValue(into: &writer, at: stamp, names)
                writer.endField()
            } while try !endsList(with: UInt8(ascii: "}"))
        }
        guard writer.endObject(frame) == nil else { throw error(.duplicateName("")) }
    }

    private mutating func writeValue(
        into writer: inout EntryWriter, at stamp: Stamp?, _ names: NameTable
    ) throws(JSONError) {
        switch current {
        case UInt8(ascii: "\""):
            writer.write(.string)
            try readText { writer.write($0) }
        case UInt8(ascii: "{"):
            writer.write(stamp == nil ? .object : .map)
            try writeFields(into: &writer, at: stamp, names)
        case UInt8(ascii: "["):
            try writeArray(into: &writer, names)
        case UInt8(ascii: "t"):
            _ = try readWord("true", .null)
            writer.write(.yes)
        case UInt8(ascii: "f"):
            _ = try readWord("false", .null)
            writer.write(.no)
        case UInt8(ascii: "n"):
            _ = try readWord("null", .null)
            writer.write(.null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            switch try readNumber() {
            case .integer(let value): writer.write(.integer(value))
            case .float(let value): writer.write(.float(value))
            default: throw error(.expected("a number"))
            }
        default: throw error(.expected("a value"))
        }
    }

    private mutating func writeArray(
        into writer: inout EntryWriter, _ names: NameTable
    ) throws(JSONError) {
        writer.write(.array)
        try enter()
        let start = writer.count
        var ends: [Int] = []
        if current == UInt8(ascii: "]") {
            _ = try endsList(with: UInt8(ascii: "]"))
        } else {
            repeat {
                try writeValue(into: &writer, at: nil, names)
                ends.append(writer.count - start)
            } while try !endsList(with: UInt8(ascii: "]"))
        }
        writer.endArray(ends)
    }

    /// Goes over a text in quotes, and hands out its bytes.
    private mutating func readText(
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(JSONError) {
        offset += 1
        let start = offset
        skipPlainText()
        if current == UInt8(ascii: "\"") {
            body(UnsafeRawBufferPointer(rebasing: text[start..<offset]))
            offset += 1
            return
        }
        try readEscapedText(from: start).withUnsafeBytes(body)
    }
}
