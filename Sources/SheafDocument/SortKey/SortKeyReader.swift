package import SheafBytes

/// Reads the values of a key back.
package struct SortKeyReader {
    private let bytes: UnsafeRawBufferPointer
    /// Where the trailer starts; none while that is being found out.
    private let trailerStart: Int?
    private var offset = 0
    /// All bits where the component is descending.
    private var mask: UInt8 = 0
    private var numberCount = 0

    /// The values of a key with as many components as there are directions; nil is missing.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, descending: [Bool]
    ) throws(Malformed) -> [Value?] {
        // The first time only finds out where the trailer starts.
        var finder = SortKeyReader(bytes: bytes, trailerStart: nil)
        _ = try finder.readAll(descending)
        var reader = SortKeyReader(bytes: bytes, trailerStart: finder.offset)
        let values = try reader.readAll(descending)
        try reader.checkTrailer()
        return values
    }

    private init(bytes: UnsafeRawBufferPointer, trailerStart: Int?) {
        self.bytes = bytes
        self.trailerStart = trailerStart
    }

    private mutating func readAll(_ descending: [Bool]) throws(Malformed) -> [Value?] {
        var values: [Value?] = []
        for isDescending in descending {
            mask = isDescending ? 0xFF : 0
            let tag = try readTag()
            values.append(tag == .missing ? nil : try readValue(tag, depth: 0))
        }
        return values
    }

    private mutating func readByte() throws(Malformed) -> UInt8 {
        guard offset < bytes.count else { throw .truncated(at: offset) }
        defer { offset += 1 }
        return bytes[offset] ^ mask
    }

    private mutating func readTag() throws(Malformed) -> SortKey.Tag {
        let byte = try readByte()
        guard let tag = SortKey.Tag(rawValue: byte) else {
            throw .unexpected(byte, at: offset - 1)
        }
        return tag
    }

    private mutating func readValue(
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
            // The names are in order, or these are no bytes that a writer makes.
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

    private mutating func readString() throws(Malformed) -> String {
        let start = offset
        guard let string = String(validating: try readText(), as: UTF8.self) else {
            throw .unexpected(SortKey.Tag.string.rawValue, at: start)
        }
        return string
    }

    // MARK: Numbers

    private mutating func readNumber() throws(Malformed) -> Value {
        let start = offset
        var ordered: UInt64 = 0
        for _ in 0..<8 { ordered = ordered << 8 | UInt64(try readByte()) }
        let number = Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
        var remainder: UInt16 = 0
        if !(number.magnitude < SortKey.firstGap), !number.isNaN {
            for _ in 0..<2 { remainder = remainder << 8 | UInt16(try readByte()) }
        }
        // While the trailer is being looked for, any number will do.
        guard let trailerStart else { return .float(number) }
        switch try readForm(trailerStart) {
        case .integer where isWhole(number):
            let (integer, hasOverflown) = Int64(number).addingReportingOverflow(Int64(remainder))
            guard !hasOverflown, SortKey.split(integer) == (number, remainder) else {
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

    private func isWhole(_ number: Double) -> Bool {
        number >= -0x1p63 && number < 0x1p63 && number.rounded(.towardZero) == number
    }

    private mutating func readForm(_ trailerStart: Int) throws(Malformed) -> SortKey.NumberForm {
        let place = trailerStart + numberCount / 4
        let shift = UInt8(2 * (numberCount % 4))
        numberCount += 1
        // Integers at the end of the trailer are left out.
        guard place < bytes.count else { return .integer }
        guard let form = SortKey.NumberForm(rawValue: bytes[place] >> shift & 3) else {
            throw .unexpected(bytes[place], at: place)
        }
        return form
    }

    /// The trailer has no more than the numbers need, and does not end in zeros.
    private func checkTrailer() throws(Malformed) {
        let trailer = bytes[(trailerStart ?? bytes.count)...]
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
