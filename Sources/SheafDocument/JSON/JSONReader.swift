import SheafBytes

/// A strict parser of JSON (RFC 8259).
///
/// A number without fraction and exponent is an integer if it fits in 64 bits, and a float
/// otherwise. Duplicate names in one object and unpaired surrogates are errors.
package struct JSONReader {
    /// Maximum length of a text, in bytes.
    package static let maximumLength = 64 << 20

    let text: UnsafeRawBufferPointer
    var offset = 0
    private var depth = 0
    /// Whether an encoded document has a field `_id` beside the one that is its id.
    var hasOtherID = false

    /// Parses a text as one value.
    package static func read(_ text: UnsafeRawBufferPointer) throws(JSONError) -> Value {
        guard text.count <= maximumLength else {
            throw JSONError(.tooLong(limit: maximumLength), at: 0, in: text)
        }
        var reader = JSONReader(text: text)
        reader.skipSpace()
        let value = try reader.readValue()
        reader.skipSpace()
        guard reader.offset == text.count else { throw reader.error(.trailing) }
        return value
    }

    init(text: UnsafeRawBufferPointer) {
        self.text = text
    }

    func error(_ reason: JSONError.Reason, at offset: Int? = nil) -> JSONError {
        JSONError(reason, at: offset ?? self.offset, in: text)
    }

    /// The byte at the current offset; zero at the end.
    var current: UInt8 { offset < text.count ? text[offset] : 0 }

    @inline(__always)
    mutating func skipSpace() {
        // Most texts have no space outside of strings.
        if offset < text.count, text[offset] <= 0x20 { skipSpaces() }
    }

    @inline(never)
    private mutating func skipSpaces() {
        while offset < text.count {
            switch text[offset] {
            case 0x20, 0x0A, 0x0D, 0x09: offset += 1
            default: return
            }
        }
    }

    mutating func readValue() throws(JSONError) -> Value {
        switch current {
        case UInt8(ascii: "{"): return .object(try readObject())
        case UInt8(ascii: "["): return .array(try readArray())
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try readNumber()
        default: throw error(.expected("a value"))
        }
    }

    mutating func readWord(
        _ word: StaticString, _ value: Value
    ) throws(JSONError) -> Value {
        let count = word.utf8CodeUnitCount
        guard count <= text.count - offset, let base = text.baseAddress,
            equalBytes(base + offset, UnsafeRawPointer(word.utf8Start), count)
        else { throw error(.expected("true, false or null")) }
        offset += count
        return value
    }

    // MARK: Arrays and objects

    mutating func enter() throws(JSONError) {
        guard depth < Value.maximumDepth else {
            throw error(.tooDeep(limit: Value.maximumDepth))
        }
        depth += 1
        offset += 1
        skipSpace()
    }

    /// Consumes a comma, or the end of an array or object; returns whether it was the end.
    mutating func endsList(with end: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        switch current {
        case end:
            offset += 1
            depth -= 1
            return true
        case UInt8(ascii: ","):
            offset += 1
            skipSpace()
            return false
        default:
            throw error(.expected(end == UInt8(ascii: "]") ? "a comma or ]" : "a comma or }"))
        }
    }

    private mutating func readArray() throws(JSONError) -> [Value] {
        try enter()
        var values: [Value] = []
        guard current != UInt8(ascii: "]") else {
            _ = try endsList(with: UInt8(ascii: "]"))
            return values
        }
        repeat {
            values.append(try readValue())
        } while try !endsList(with: UInt8(ascii: "]"))
        return values
    }

    private mutating func readObject() throws(JSONError) -> Object {
        let start = offset
        try enter()
        var fields: [Object.Field] = []
        guard current != UInt8(ascii: "}") else {
            _ = try endsList(with: UInt8(ascii: "}"))
            return Object()
        }
        repeat {
            guard current == UInt8(ascii: "\"") else {
                throw error(.expected("a name in double quotes"))
            }
            let name = try readString()
            skipSpace()
            guard current == UInt8(ascii: ":") else { throw error(.expected("a colon")) }
            offset += 1
            skipSpace()
            fields.append(Object.Field(name, try readValue()))
        } while try !endsList(with: UInt8(ascii: "}"))
        let object = Object(sorting: fields)
        guard object.count == fields.count else {
            throw error(.duplicateName(Self.firstDuplicate(fields)), at: start)
        }
        return object
    }

    /// Returns the first duplicate name; there must be one.
    private static func firstDuplicate(_ fields: [Object.Field]) -> String {
        var seen = Set<[UInt8]>()
        return fields.first { !seen.insert(Array($0.name.utf8)).inserted }?.name ?? ""
    }

    // MARK: Strings

    mutating func readString() throws(JSONError) -> String {
        offset += 1
        let start = offset
        skipPlainText()
        if current == UInt8(ascii: "\"") {
            let string = Self.string(UnsafeRawBufferPointer(rebasing: text[start..<offset]))
            offset += 1
            guard let string else { throw error(.invalidText, at: start) }
            return string
        }
        let bytes = try readEscapedText(from: start)
        guard let string = bytes.withUnsafeBytes({ Self.string($0) }) else {
            throw error(.invalidText, at: start)
        }
        return string
    }

    /// Reads up to the closing quote of a string whose text begins at `start`.
    mutating func readEscapedText(from start: Int) throws(JSONError) -> [UInt8] {
        var bytes = Array(text[start..<offset])
        while true {
            guard offset < text.count else { throw error(.expected("a double quote")) }
            switch text[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                return bytes
            case UInt8(ascii: "\\"):
                try readEscape(into: &bytes)
            case let byte where byte < 0x20:
                throw error(.controlCharacter(byte))
            default:
                let plain = offset
                skipPlainText()
                bytes.append(contentsOf: text[plain..<offset])
            }
        }
    }

    /// Decodes UTF-8; returns nil if it is invalid.
    private static func string(_ bytes: UnsafeRawBufferPointer) -> String? {
        bytes.withMemoryRebound(to: UInt8.self) { bytes in
            guard let text = try? UTF8Span(validating: bytes.span) else { return nil }
            return String(copying: text)
        }
    }

    /// Advances to the next quote, backslash or control character, eight bytes at a time.
    mutating func skipPlainText() {
        while offset + 8 <= text.count {
            let word = UInt64(
                littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let found =
                Self.bytes(of: word, equalTo: 0x22) | Self.bytes(of: word, equalTo: 0x5C)
                | Self.bytesBelowSpace(of: word)
            guard found == 0 else {
                offset += found.trailingZeroBitCount / 8
                return
            }
            offset += 8
        }
        while offset < text.count {
            let byte = text[offset]
            guard byte != 0x22, byte != 0x5C, byte >= 0x20 else { return }
            offset += 1
        }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns the high bits of bytes equal to `byte`; bits above the lowest one are unreliable.
    @inline(__always)
    private static func bytes(of word: UInt64, equalTo byte: UInt64) -> UInt64 {
        let difference = word ^ (ones &* byte)
        return (difference &- ones) & ~difference & highBits
    }

    @inline(__always)
    private static func bytesBelowSpace(of word: UInt64) -> UInt64 {
        (word &- ones &* 0x20) & ~word & highBits
    }

    mutating func readEscape(into bytes: inout [UInt8]) throws(JSONError) {
        let start = offset
        offset += 1
        let letter = current
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(letter)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            var unit = try readHexadecimal(from: start)
            if unit & 0xFC00 == 0xD800 {
                guard current == UInt8(ascii: "\\"), offset + 1 < text.count,
                    text[offset + 1] == UInt8(ascii: "u")
                else { throw error(.invalidText, at: start) }
                offset += 2
                let second = try readHexadecimal(from: start)
                guard second & 0xFC00 == 0xDC00 else { throw error(.invalidText, at: start) }
                unit = 0x1_0000 + (unit & 0x3FF) << 10 + second & 0x3FF
            }
            guard let scalar = Unicode.Scalar(unit) else { throw error(.invalidText, at: start) }
            bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default:
            throw error(.invalidEscape, at: start)
        }
    }

    private mutating func readHexadecimal(from start: Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(current)).hexDigitValue else {
                throw error(.expected("four hexadecimal digits"), at: start)
            }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }
}
