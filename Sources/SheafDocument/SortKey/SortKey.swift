import SheafBytes

/// An order-preserving encoding of values (`format-spec/keys.md`).
///
/// A key has components, each ascending or descending, and a trailer with the number types, which
/// do not affect the order. Equal numbers have equal components, so keys without a trailer decide
/// equality.
package enum SortKey {
    /// The first byte of a component; descending components are inverted bitwise.
    enum Tag: UInt8 {
        /// The end of a text, an array or an object; it sorts before every continuation.
        case end = 0x00
        case no = 0x10
        case yes = 0x11
        case number = 0x20
        case bytes = 0x30
        case string = 0x40
        case array = 0x50
        case object = 0x60
        case null = 0x70
        case missing = 0x80
    }

    /// The byte before an escaped byte of a text: a zero, which would end it, or the escape itself.
    ///
    /// The escaped byte is incremented. So no key is a prefix of another, and inversion reverses
    /// the order.
    static let escape: UInt8 = 0x01
    /// Maximum length of a key that is made on the stack.
    private static let longestPlainKey = 1_024
    /// Magnitude from which floats have gaps; integers in a gap have a remainder.
    static let firstGap = 0x1p53

    /// The type of a number, which does not affect its order.
    enum NumberForm: UInt8 {
        case integer = 0
        case float = 1
        case negativeZero = 2
    }

    /// Returns the bits that determine the order of a float; equal for both zeros and for all NaNs.
    static func canonical(_ float: Double) -> UInt64 {
        float.isNaN ? Double.nan.bitPattern : float == 0 ? 0 : float.bitPattern
    }

    /// Returns the greatest float not above an integer, and the remainder.
    static func split(_ integer: Int64) -> (number: Double, remainder: UInt16) {
        var below = Double(integer)
        // The conversion rounds to the nearest float, which may be greater.
        if NumberOrder.compare(integer, below) < 0 { below = below.nextDown }
        return (below, UInt16(truncatingIfNeeded: integer &- Int64(below)))
    }

    /// Returns the key of one value without a trailer, for tests of equality.
    package static func identity(of value: Value, behind prefix: [UInt8] = []) -> [UInt8] {
        if case .string(let text) = value, let key = identity(ofPlain: text, behind: prefix) {
            return key
        }
        var writer = SortKeyWriter(behind: prefix)
        writer.append(value)
        return writer.components
    }

    /// Returns the key of a text in one copy; nil if bytes must be escaped.
    private static func identity(ofPlain text: String, behind prefix: [UInt8]) -> [UInt8]? {
        let length = prefix.count + text.utf8.count + 2
        guard length <= longestPlainKey else { return nil }
        // An array that is initialized in place is allocated by unspecialized code.
        return withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { key in
            prefix.withUnsafeBytes { key.copyMemory(from: $0) }
            let rest = UnsafeMutableRawBufferPointer(rebasing: key[prefix.count...])
            guard write(identityOf: text, to: rest) != nil else { return nil }
            return Array(key)
        }
    }

    /// Writes the key of a text without a trailer; returns its length.
    ///
    /// Returns nil if the buffer is too short or bytes must be escaped.
    package static func write(
        identityOf text: String, to key: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let length = text.utf8.withContiguousStorageIfAvailable { text -> Int? in
            guard key.count >= text.count + 2, isPlain(text) else { return nil }
            key[0] = Tag.string.rawValue
            UnsafeMutableRawBufferPointer(rebasing: key[1...])
                .copyMemory(from: UnsafeRawBufferPointer(text))
            key[text.count + 1] = Tag.end.rawValue
            return text.count + 2
        }
        return length ?? nil
    }

    /// Writes the key of an encoded text without a trailer; returns its length.
    ///
    /// Returns nil if the buffer is too short, bytes must be escaped, or it is not UTF-8.
    package static func write(
        identityOfText text: UnsafeRawBufferPointer, to key: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard key.count >= text.count + 2, isUTF8(text),
            isPlain(text.assumingMemoryBound(to: UInt8.self))
        else { return nil }
        key[0] = Tag.string.rawValue
        UnsafeMutableRawBufferPointer(rebasing: key[1...]).copyMemory(from: text)
        key[text.count + 1] = Tag.end.rawValue
        return text.count + 2
    }

    /// Writes the key of an integer without a trailer; returns its length.
    ///
    /// Returns nil if the buffer is too short or the integer needs a remainder.
    package static func write(
        identityOf integer: Int64, to key: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let number = Double(integer)
        guard key.count >= 9, number.magnitude < firstGap else { return nil }
        let bits = number.bitPattern
        key[0] = Tag.number.rawValue
        key.storeBytes(
            of: (bits >> 63 == 0 ? bits | 1 << 63 : ~bits).bigEndian, toByteOffset: 1,
            as: UInt64.self)
        return 9
    }

    /// Whether a key is an ASCII text without escapes, as most ids are.
    static func isPlainText(_ key: UnsafeRawBufferPointer) -> Bool {
        guard key.count >= 2, key[0] == Tag.string.rawValue, key[key.count - 1] == Tag.end.rawValue
        else { return false }
        var (least, most) = (UInt8.max, UInt8.min)
        for byte in key[1..<key.count - 1] {
            least = min(least, byte)
            most = max(most, byte)
        }
        return least > escape && most < 0x80
    }

    /// Whether no byte of a text must be escaped, as in nearly all texts.
    @inline(__always)
    fileprivate static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // The loop has no early exit, so that it is vectorized.
        var least = UInt8.max
        for byte in text { least = min(least, byte) }
        return least > escape
    }
}

/// An encoder of a key, component by component.
package struct SortKeyWriter {
    /// The encoded components, which determine the order.
    package private(set) var components: [UInt8] = []
    private var numberCount = 0
    /// Types of the numbers up to the last one that is not an integer.
    private var forms: [SortKey.NumberForm] = []

    /// Creates a writer with a prefix that is not a component.
    package init(behind prefix: [UInt8] = []) {
        components.reserveCapacity(48)
        components.append(contentsOf: prefix)
    }

    /// Makes the writer equal to a new one, but keeps the memory.
    package mutating func restart(behind prefix: [UInt8]) {
        components.removeAll(keepingCapacity: true)
        components.append(contentsOf: prefix)
        numberCount = 0
        if !forms.isEmpty { forms = [] }
    }

    /// Appends a value; nil for a missing one.
    package mutating func append(_ value: Value?, descending: Bool = false) {
        let start = components.count
        if let value {
            write(value)
        } else {
            components.append(SortKey.Tag.missing.rawValue)
        }
        if descending { invert(from: start) }
    }

    /// Appends a text or an integer without decoding the text; returns false for other entries.
    mutating func append(
        plain entry: EncodedEntry, descending: Bool
    ) throws(Malformed) -> Bool {
        let start = components.count
        if entry.rawTag & ~Tag.referenceBit == Tag.string.rawValue {
            let text = try entry.payloadBytes()
            guard isUTF8(text) else { throw .notText(at: entry.start) }
            components.append(SortKey.Tag.string.rawValue)
            write(text: text)
        } else if case .integer(let integer)? = try entry.number() {
            write(integer)
        } else {
            return false
        }
        if descending { invert(from: start) }
        return true
    }

    private mutating func invert(from start: Int) {
        for index in start..<components.count { components[index] = ~components[index] }
    }

    /// The components and the trailer.
    package var bytes: [UInt8] { components + trailer }

    /// The types of the numbers, two bits each.
    package var trailer: [UInt8] {
        var trailer: [UInt8] = []
        for (index, form) in forms.enumerated() {
            if index % 4 == 0 { trailer.append(0) }
            trailer[trailer.count - 1] |= form.rawValue << UInt8(2 * (index % 4))
        }
        return trailer
    }

    /// Appends bytes that are not a component.
    package mutating func append(raw bytes: UnsafeRawBufferPointer) {
        components.append(contentsOf: bytes)
    }

    /// Records the type of a number; trailing integers are omitted.
    private mutating func record(_ form: SortKey.NumberForm) {
        if form != .integer {
            while forms.count < numberCount { forms.append(.integer) }
            forms.append(form)
        }
        numberCount += 1
    }

    private mutating func write(_ value: Value) {
        switch value {
        case .bool(let value): components.append((value ? SortKey.Tag.yes : .no).rawValue)
        case .integer(let value): write(value)
        case .float(let value): write(value)
        case .bytes(let value):
            components.append(SortKey.Tag.bytes.rawValue)
            value.withUnsafeBytes { write(text: $0) }
        case .string(let value): write(value)
        case .array(let values):
            components.append(SortKey.Tag.array.rawValue)
            for value in values { write(value) }
            components.append(SortKey.Tag.end.rawValue)
        case .object(let object):
            components.append(SortKey.Tag.object.rawValue)
            for field in object {
                write(field.name)
                write(field.value)
            }
            components.append(SortKey.Tag.end.rawValue)
        case .null: components.append(SortKey.Tag.null.rawValue)
        }
    }

    private mutating func write(_ string: String) {
        components.append(SortKey.Tag.string.rawValue)
        var string = string
        string.withUTF8 { write(text: UnsafeRawBufferPointer($0)) }
    }

    private mutating func write(text: UnsafeRawBufferPointer) {
        if SortKey.isPlain(text.assumingMemoryBound(to: UInt8.self)) {
            components.append(contentsOf: text)
            components.append(SortKey.Tag.end.rawValue)
            return
        }
        for byte in text {
            if byte > SortKey.escape {
                components.append(byte)
            } else {
                components.append(SortKey.escape)
                components.append(byte + 1)
            }
        }
        components.append(SortKey.Tag.end.rawValue)
    }

    private mutating func write(_ float: Double) {
        record(float == 0 && float.sign == .minus ? .negativeZero : .float)
        write(number: Double(bitPattern: SortKey.canonical(float)), remainder: 0)
    }

    private mutating func write(_ integer: Int64) {
        record(.integer)
        let (number, remainder) = SortKey.split(integer)
        write(number: number, remainder: remainder)
    }

    private mutating func write(number: Double, remainder: UInt16) {
        components.append(SortKey.Tag.number.rawValue)
        let bits = number.bitPattern
        // Inverting the bits of negative floats orders them by descending magnitude.
        let ordered = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
        withUnsafeBytes(of: ordered.bigEndian) { components.append(contentsOf: $0) }
        guard number.magnitude >= SortKey.firstGap else { return }
        withUnsafeBytes(of: remainder.bigEndian) { components.append(contentsOf: $0) }
    }
}
