import SheafBytes

/// Bytes whose order is the order of values (`format-spec/keys.md`).
///
/// A key is a list of components, each ascending or descending, and a trailer that tells what the
/// order does not: which of the numbers were floats. Equal numbers have the same bytes in front, so
/// keys without a trailer say which values are equal.
package enum SortKey {
    /// The first byte of a component; descending ones have all bits of all their bytes turned.
    enum Tag: UInt8 {
        /// Ends a text, an array or an object: it comes before everything that could go on.
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

    /// Stands before a byte of a text that is zero, which would end it, or that is this one.
    ///
    /// Both are one more there. So no key is the beginning of another, and turned bits turn the
    /// order.
    static let escape: UInt8 = 0x01
    /// From here on floats have gaps, and integers between them a remainder.
    static let firstGap = 0x1p53

    /// What a number is besides its place in the order.
    enum NumberForm: UInt8 {
        case integer = 0
        case float = 1
        case negativeZero = 2
    }

    /// The bits by which a float has its place: zero has one, and so has what is no number.
    static func canonical(_ float: Double) -> UInt64 {
        float.isNaN ? Double.nan.bitPattern : float == 0 ? 0 : float.bitPattern
    }

    /// The greatest float that is not above an integer, and what is left.
    static func split(_ integer: Int64) -> (number: Double, remainder: UInt16) {
        var below = Double(integer)
        // The conversion rounds to the nearest float, which may be above.
        if NumberOrder.compare(integer, below) < 0 { below = below.nextDown }
        return (below, UInt16(truncatingIfNeeded: integer &- Int64(below)))
    }

    /// The key of one value, for what equality matters alone: without a trailer.
    package static func identity(of value: Value, behind prefix: [UInt8] = []) -> [UInt8] {
        if case .string(let text) = value, let key = identity(ofPlain: text, behind: prefix) {
            return key
        }
        var writer = SortKeyWriter(behind: prefix)
        writer.append(value)
        return writer.components
    }

    /// The key of a text, made in one go; nil where some of its bytes have to be escaped.
    private static func identity(ofPlain text: String, behind prefix: [UInt8]) -> [UInt8]? {
        let length = prefix.count + text.utf8.count + 2
        let key = [UInt8](unsafeUninitializedCapacity: length) { key, count in
            let key = UnsafeMutableRawBufferPointer(key)
            prefix.withUnsafeBytes { key.copyMemory(from: $0) }
            let rest = UnsafeMutableRawBufferPointer(rebasing: key[prefix.count...])
            count = write(identityOf: text, to: rest).map { prefix.count + $0 } ?? 0
        }
        return key.isEmpty ? nil : key
    }

    /// Writes the key of a text for what equality matters alone, and returns its length; nil where
    /// there is no room for it, or some bytes of the text have to be escaped.
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

    /// Whether some bytes are the key of a text of which no byte has to be escaped, in ASCII; most ids are.
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

    /// Whether no byte of a text has to be escaped: so it is with nearly all texts.
    @inline(__always)
    fileprivate static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // All bytes are looked at in any case, which goes many at a time.
        var least = UInt8.max
        for byte in text { least = min(least, byte) }
        return least > escape
    }
}

/// Makes a key, component by component.
package struct SortKeyWriter {
    /// What decides the order.
    package private(set) var components: [UInt8] = []
    private var numberCount = 0
    /// Of the numbers up to the last one that is no integer.
    private var forms: [SortKey.NumberForm] = []

    /// Begins with bytes that are no components.
    package init(behind prefix: [UInt8] = []) {
        components.reserveCapacity(48)
        components.append(contentsOf: prefix)
    }

    /// Adds a value; nil stands for one that is missing.
    package mutating func append(_ value: Value?, descending: Bool = false) {
        let start = components.count
        if let value {
            write(value)
        } else {
            components.append(SortKey.Tag.missing.rawValue)
        }
        guard descending else { return }
        for index in start..<components.count { components[index] = ~components[index] }
    }

    /// The components and the trailer.
    package var bytes: [UInt8] { components + trailer }

    /// Which of the numbers are no integers.
    package var trailer: [UInt8] {
        var trailer: [UInt8] = []
        for (index, form) in forms.enumerated() {
            if index % 4 == 0 { trailer.append(0) }
            trailer[trailer.count - 1] |= form.rawValue << UInt8(2 * (index % 4))
        }
        return trailer
    }

    /// Adds bytes that are no component.
    package mutating func append(raw bytes: UnsafeRawBufferPointer) {
        components.append(contentsOf: bytes)
    }

    /// Integers are the rule, and need no trailer.
    private mutating func note(_ form: SortKey.NumberForm) {
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
        note(float == 0 && float.sign == .minus ? .negativeZero : .float)
        write(number: Double(bitPattern: SortKey.canonical(float)), remainder: 0)
    }

    private mutating func write(_ integer: Int64) {
        note(.integer)
        let (number, remainder) = SortKey.split(integer)
        write(number: number, remainder: remainder)
    }

    private mutating func write(number: Double, remainder: UInt16) {
        components.append(SortKey.Tag.number.rawValue)
        let bits = number.bitPattern
        // Negative floats grow with the bits of their magnitude downwards.
        let ordered = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
        withUnsafeBytes(of: ordered.bigEndian) { components.append(contentsOf: $0) }
        guard number.magnitude >= SortKey.firstGap else { return }
        withUnsafeBytes(of: remainder.bigEndian) { components.append(contentsOf: $0) }
    }
}
