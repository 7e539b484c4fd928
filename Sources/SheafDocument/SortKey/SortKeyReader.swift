package import SheafBytes

/// A decoder of a key into values.
package struct SortKeyReader {
    let bytes: UnsafeRawBufferPointer
    /// Offset of the trailer.
    private let trailerStart: Int
    var offset = 0
    /// 0xFF in a descending component, otherwise 0.
    var mask: UInt8 = 0
    private var numberCount = 0
    /// Whether the key has a trailer; without one, numbers are integers where possible.
    private var hasTrailer = true

    /// Decodes a key with one component for each direction; nil is a missing value.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, descending: [Bool]
    ) throws(Malformed) -> [Value?] {
        // The trailer follows all components, which store no length, so they are skipped first.
        var finder = SortKeyReader(bytes: bytes, trailerStart: 0)
        for isDescending in descending { try finder.skipComponent(isDescending) }
        var reader = SortKeyReader(bytes: bytes, trailerStart: finder.offset)
        let values = try reader.readAll(descending)
        guard reader.offset == finder.offset else { throw .truncated(at: reader.offset) }
        try reader.checkTrailer()
        return values
    }

    init(bytes: UnsafeRawBufferPointer, trailerStart: Int) {
        self.bytes = bytes
        self.trailerStart = trailerStart
    }

    private mutating func readAll(_ descending: [Bool]) throws(Malformed) -> [Value?] {
        var values: [Value?] = []
        values.reserveCapacity(descending.count)
        for isDescending in descending { values.append(try readComponent(isDescending)) }
        return values
    }

    private mutating func readComponent(_ isDescending: Bool) throws(Malformed) -> Value? {
        mask = isDescending ? 0xFF : 0
        let tag = try readTag()
        return tag == .missing ? nil : try readValue(tag, depth: 0)
    }

    private mutating func readByte() throws(Malformed) -> UInt8 {
        guard offset < bytes.count else { throw .truncated(at: offset) }
        defer { offset += 1 }
        return bytes[offset] ^ mask
    }

    mutating func readTag() throws(Malformed) -> SortKey.Tag {
        let byte = try readByte()
        guard let tag = SortKey.Tag(rawValue: byte) else {
            throw .unexpected(byte, at: offset - 1)
        }
        return tag
    }

    mutating func readValue(
        _ tag: SortKey.Tag, depth: Int
    ) throws(Malformed) -> Value {
        switch tag {
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .null: return .null
        case .number: return try readNumber()
        case .bytes: return .bytes(try readText())
        case .string: return .string(try readString())
        case .array: return .array(try readArray(depth: depth + 1))
        case .object: return .object(try readObject(depth: depth + 1))
        case .end, .missing: throw .unexpected(tag.rawValue, at: offset - 1)
        }
    }

    private func check(depth: Int) throws(Malformed) {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: offset - 1, limit: Value.maximumDepth)
        }
    }

    private mutating func readArray(depth: Int) throws(Malformed) -> [Value] {
        try check(depth: depth)
        var values: [Value] = []
        while true {
            let tag = try readTag()
            guard tag != .end else { return values }
            values.append(try readValue(tag, depth: depth))
        }
    }

    private mutating func readObject(depth: Int) throws(Malformed) -> Object {
        try check(depth: depth)
        let start = offset
        var fields: [Object.Field] = []
        while true {
            let tag = try readTag()
            guard tag != .end else { break }
            guard tag == .string else { throw .unexpected(tag.rawValue, at: offset - 1) }
            let name = try readString()
            // Names out of order are a malformed encoding.
            if let last = fields.last, UTF8Order.compare(last.name, name) >= 0 {
                throw .unexpected(tag.rawValue, at: start)
            }
            fields.append(Object.Field(name, try readValue(try readTag(), depth: depth)))
        }
        return Object(sorting: fields)
    }

    // MARK: Texts

    private mutating func readText() throws(Malformed) -> [UInt8] {
        var text: [UInt8] = []
        while true {
            let byte = try readByte()
            switch byte {
            case SortKey.Tag.end.rawValue: return text
            case SortKey.escape:
                let escaped = try readByte()
                guard escaped == 1 || escaped == 2 else {
                    throw .unexpected(escaped, at: offset - 1)
                }
                text.append(escaped - 1)
            default: text.append(byte)
            }
        }
    }

    /// Returns the end of a text without escapes; nil if it has escapes or no end.
    func plainEnd() -> Int? {
        var end = offset
        while end < bytes.count, bytes[end] > SortKey.escape { end &+= 1 }
        return end < bytes.count && bytes[end] == SortKey.Tag.end.rawValue ? end : nil
    }

    private mutating func readString() throws(Malformed) -> String {
        let start = offset
        if mask == 0, let end = plainEnd() {
            defer { offset = end + 1 }
            return try text(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), at: start)
        }
        guard let string = String(validating: try readText(), as: UTF8.self) else {
            throw .unexpected(SortKey.Tag.string.rawValue, at: start)
        }
        return string
    }

    // MARK: Numbers

    mutating func readNumber() throws(Malformed) -> Value {
        let start = offset
        let number = try readFloat()
        var remainder: UInt16 = 0
        if Self.hasRemainder(number) {
            for _ in 0..<2 { remainder = remainder << 8 | UInt16(try readByte()) }
        }
        switch hasTrailer ? try readForm() : isComplete(number) ? .integer : .float {
        case .integer where isComplete(number):
            // A sum that wraps around is negative, so it is not split into the same parts.
            let integer = Int64(number) &+ Int64(remainder)
            guard SortKey.split(integer) == (number, remainder) else {
                throw .unexpected(bytes[start], at: start)
            }
            return .integer(integer)
        case .float where remainder == 0 && number.bitPattern == SortKey.canonical(number):
            return .float(number)
        case .negativeZero where number == 0:
            return .float(-0.0)
        default:
            throw .unexpected(bytes[start], at: start)
        }
    }

    private mutating func readFloat() throws(Malformed) -> Double {
        guard bytes.count - offset >= 8 else { throw .truncated(at: bytes.count) }
        let stored = UInt64(
            bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let ordered = mask == 0 ? stored : ~stored
        offset += 8
        return Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
    }

    private static func hasRemainder(_ number: Double) -> Bool {
        !(number.magnitude < SortKey.firstGap) && !number.isNaN
    }

    private func isComplete(_ number: Double) -> Bool {
        number >= -0x1p63 && number < 0x1p63 && number.rounded(.towardZero) == number
    }

    private mutating func readForm() throws(Malformed) -> SortKey.NumberForm {
        let index = trailerStart + numberCount / 4
        let shift = UInt8(2 * (numberCount % 4))
        numberCount += 1
        // The trailer omits integers at its end.
        guard index < bytes.count else { return .integer }
        guard let form = SortKey.NumberForm(rawValue: bytes[index] >> shift & 3) else {
            throw .unexpected(bytes[index], at: index)
        }
        return form
    }

    /// Throws if the trailer is longer than necessary.
    private func checkTrailer() throws(Malformed) {
        let trailer = bytes[trailerStart...]
        guard trailer.count * 4 < numberCount + 4, trailer.last != 0 else {
            throw .unexpected(trailer.last ?? 0, at: bytes.count - 1)
        }
        guard let last = trailer.last, numberCount % 4 > 0, trailer.count * 4 > numberCount else {
            return
        }
        guard last >> UInt8(2 * (numberCount % 4)) == 0 else {
            throw .unexpected(last, at: bytes.count - 1)
        }
    }
}

/// Skipping components without decoding them.
extension SortKeyReader {
    /// Skips a component without validating it.
    mutating func skipComponent(_ isDescending: Bool) throws(Malformed) {
        mask = isDescending ? 0xFF : 0
        var depth = 0
        repeat {
            switch try readTag() {
            case .no, .yes, .null, .missing: break
            case .number:
                if Self.hasRemainder(try readFloat()) {
                    for _ in 0..<2 { _ = try readByte() }
                }
            case .bytes, .string: try skipText()
            case .array, .object: depth += 1
            case .end:
                guard depth > 0 else {
                    throw .unexpected(SortKey.Tag.end.rawValue, at: offset - 1)
                }
                depth -= 1
            }
        } while depth > 0
    }

    /// Skips a text; its terminator does not occur within it.
    mutating func skipText() throws(Malformed) {
        let end = SortKey.Tag.end.rawValue ^ mask
        while offset < bytes.count {
            offset &+= 1
            if bytes[offset &- 1] == end { return }
        }
        throw .truncated(at: offset)
    }
}

/// Decoding of incomplete keys.
extension SortKeyReader {
    /// Returns the values of all complete components, and the length of these components.
    package static func readBeginning(
        _ bytes: UnsafeRawBufferPointer, descending: [Bool]
    ) -> (values: [Value?], length: Int) {
        var reader = SortKeyReader(bytes: bytes, trailerStart: bytes.count)
        reader.hasTrailer = false
        var values: [Value?] = []
        for isDescending in descending {
            var next = reader
            do throws(Malformed) { values.append(try next.readComponent(isDescending)) } catch {
                return (values, reader.offset)
            }
            reader = next
        }
        return (values, reader.offset)
    }

    /// Returns the beginning of a text from an incomplete key; nil for complete keys and other
    /// types.
    package static func readText(
        beginning bytes: some Collection<UInt8>
    ) -> String? {
        guard bytes.first == SortKey.Tag.string.rawValue else { return nil }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in bytes.dropFirst() {
            if isEscaped {
                guard byte == 1 || byte == 2 else { return nil }
                text.append(byte - 1)
            } else if byte > SortKey.escape {
                text.append(byte)
            } else if byte == SortKey.Tag.end.rawValue {
                return nil
            }
            isEscaped = !isEscaped && byte == SortKey.escape
        }
        return isEscaped ? nil : String(validating: text, as: UTF8.self)
    }

    /// Returns the type name of values whose components begin with a byte.
    package static func kindName(_ tag: UInt8) -> String? {
        switch SortKey.Tag(rawValue: tag) {
        case .number?: "number"
        case .bytes?: "bytes"
        case .string?: "string"
        case .array?: "array"
        case .object?: "object"
        default: nil
        }
    }
}

extension SortKeyReader {
    /// Returns the length of the first components of a key, without decoding them.
    package static func length(
        _ bytes: UnsafeRawBufferPointer, descending: ArraySlice<Bool>
    ) throws(Malformed) -> Int {
        var reader = SortKeyReader(bytes: bytes, trailerStart: bytes.count)
        for isDescending in descending { try reader.skipComponent(isDescending) }
        return reader.offset
    }
}
