import Sheaf

/// A minimal decoder for definite-length CBOR.
struct CBORReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Decodes the next value; returns nil at the end, and for other encodings.
    mutating func value() -> Value? {
        guard let first = rest.popFirst() else { return nil }
        let kind = first & 31
        if first >> 5 == 7 { return simple(kind) }
        guard let number = kind < 24 ? UInt64(kind) : number(1 << Int(kind - 24)) else {
            return nil
        }
        switch first >> 5 {
        case 0: return .integer(Int64(number))
        case 1: return .integer(-1 - Int64(number))
        case 2: return .bytes(take(Int(number)))
        case 3: return .string(String(decoding: take(Int(number)), as: UTF8.self))
        case 4: return .array((0..<number).compactMap { _ in value() })
        case 5:
            return .object(
                Object(
                    (0..<number).compactMap { _ -> (String, Value)? in
                        guard case .string(let name)? = value(), let value = value() else {
                            return nil
                        }
                        return (name, value)
                    }))
        default: return nil
        }
    }

    private mutating func simple(_ kind: UInt8) -> Value? {
        switch kind {
        case 20, 21: .bool(kind == 21)
        case 22: .null
        case 25: number(2).map { .float(Self.half(UInt16($0))) }
        case 26: number(4).map { .float(Double(Float(bitPattern: UInt32($0)))) }
        case 27: number(8).map { .float(Double(bitPattern: $0)) }
        default: nil
        }
    }

    /// Converts half precision as in RFC 8949, appendix D.
    private static func half(_ bits: UInt16) -> Double {
        let exponent = Int(bits >> 10 & 31)
        let significand = Double(bits & 1023)
        let magnitude =
            switch exponent {
            case 0: significand * 0x1p-24
            case 31: significand == 0 ? Double.infinity : .nan
            default:
                (significand + 1024) * Double(sign: .plus, exponent: exponent - 25, significand: 1)
            }
        return bits >> 15 == 1 ? -magnitude : magnitude
    }

    private mutating func number(_ length: Int) -> UInt64? {
        let bytes = take(length)
        return bytes.count == length ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private mutating func take(_ length: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(length) }
        return [UInt8](rest.prefix(length))
    }
}
