import Sheaf

/// An encoder for deterministic CBOR (RFC 8949, section 4.2.1): equal values have equal bytes.
///
/// Lengths are definite, numbers have their shortest exact form, and fields are ordered by their
/// encoded names.
struct CBORWriter {
    private(set) var bytes: [UInt8] = []

    /// The major types, stored in the first three bits of an item.
    private enum Major {
        static let unsigned: UInt8 = 0
        static let negative: UInt8 = 1
        static let bytes: UInt8 = 2
        static let text: UInt8 = 3
        static let array: UInt8 = 4
        static let map: UInt8 = 5
    }

    /// Single-byte items, and the first bytes of floats.
    private enum Simple {
        static let falseItem: UInt8 = 0xF4
        static let trueItem: UInt8 = 0xF5
        static let null: UInt8 = 0xF6
        static let half: UInt8 = 0xF9
        static let single: UInt8 = 0xFA
        static let double: UInt8 = 0xFB
    }

    /// Appends a value.
    mutating func write(_ value: Value) {
        switch value {
        case .null: bytes.append(Simple.null)
        case .bool(let value): bytes.append(value ? Simple.trueItem : Simple.falseItem)
        // CBOR encodes a negative integer n as -1 - n, which is its bitwise complement.
        case .integer(let value) where value < 0: writeHead(Major.negative, UInt64(~value))
        case .integer(let value): writeHead(Major.unsigned, UInt64(value))
        case .float(let value): write(value)
        case .string(let text): write(text)
        case .bytes(let content):
            writeHead(Major.bytes, UInt64(content.count))
            bytes += content
        case .array(let values):
            writeHead(Major.array, UInt64(values.count))
            for value in values { write(value) }
        case .object(let object): write(object)
        }
    }

    /// Writes the fields in the order of their encoded names.
    ///
    /// An encoded name starts with its length, so shorter names come first.
    private mutating func write(_ object: Object) {
        writeHead(Major.map, UInt64(object.count))
        // The sort is stable, and the fields are in byte order already.
        for field in object.sorted(by: { $0.name.utf8.count < $1.name.utf8.count }) {
            write(field.name)
            write(field.value)
        }
    }

    private mutating func write(_ text: String) {
        writeHead(Major.text, UInt64(text.utf8.count))
        bytes += text.utf8
    }

    /// Appends a head: the major type, and a number in as few bytes as possible.
    private mutating func writeHead(_ major: UInt8, _ number: UInt64) {
        let kind = major << 5
        switch number {
        case ..<24: bytes.append(kind | UInt8(number))
        case ...0xFF:
            bytes.append(kind | 24)
            bytes.append(UInt8(number))
        case ...0xFFFF:
            bytes.append(kind | 25)
            write(bigEndian: UInt16(number))
        case ...0xFFFF_FFFF:
            bytes.append(kind | 26)
            write(bigEndian: UInt32(number))
        default:
            bytes.append(kind | 27)
            write(bigEndian: number)
        }
    }

    private mutating func write(bigEndian number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    private mutating func write(_ value: Double) {
        guard !value.isNaN else {
            bytes.append(Simple.half)
            write(bigEndian: 0x7E00 as UInt16)
            return
        }
        let single = Float(value)
        guard Double(single) == value else {
            bytes.append(Simple.double)
            write(bigEndian: value.bitPattern)
            return
        }
        if let half = Self.halfBits(of: single) {
            bytes.append(Simple.half)
            write(bigEndian: half)
        } else {
            bytes.append(Simple.single)
            write(bigEndian: single.bitPattern)
        }
    }

    /// Returns a float as half precision, or nil if it is not exact.
    ///
    /// `Float16` does not exist on all systems.
    private static func halfBits(of value: Float) -> UInt16? {
        let sign: UInt16 = value.sign == .minus ? 0x8000 : 0
        if value.isZero { return sign }
        if value.isInfinite { return sign | 0x7C00 }
        let exponent = Int(value.exponent)
        switch exponent {
        case -14...15:
            // Half precision has 10 of the 23 bits of the significand.
            let significand = value.significandBitPattern
            guard significand & 0x1FFF == 0 else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(significand >> 13)
        case -24 ..< -14:
            // Subnormal values are multiples of 2 to the power of -24.
            let steps = value.magnitude * 0x1p24
            guard steps == steps.rounded(.towardZero) else { return nil }
            return sign | UInt16(steps)
        default: return nil
        }
    }
}
