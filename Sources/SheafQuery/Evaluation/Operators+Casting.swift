package import SheafDocument

/// CAST, which yields MISSING if a value has no counterpart of the type.
extension Operators {
    /// Returns the value converted to a type; NULL remains NULL.
    package static func cast(_ value: Value?, to type: CastType) -> Value? {
        guard let value else { return nil }
        if case .null = value { return .null }
        return switch type {
        case .string: string(value)
        case .integer: integer(value)
        case .float: float(value)
        case .boolean: boolean(value)
        case .binary: binary(value)
        }
    }

    private static func string(_ value: Value) -> Value? {
        switch value {
        case .string: return value
        case .bool(let value): return .string(value ? "true" : "false")
        case .integer, .float:
            if case .float(let float) = value, !float.isFinite { return nil }
            return .string(value.json)
        case .bytes(let bytes): return String(validating: bytes, as: UTF8.self).map(Value.string)
        case .null, .array, .object: return nil
        }
    }

    private static func integer(_ value: Value) -> Value? {
        switch value {
        case .integer: return value
        case .bool(let value): return .integer(value ? 1 : 0)
        case .float(let float):
            return Int64(exactly: float.rounded(.towardZero)).map(Value.integer)
        case .string(let text):
            // A number that exceeds 64 bits is parsed as a float.
            guard case .integer(let integer) = number(text) else { return nil }
            return .integer(integer)
        case .null, .bytes, .array, .object: return nil
        }
    }

    private static func float(_ value: Value) -> Value? {
        switch value {
        case .float(let float): return result(float)
        case .bool(let value): return .float(value ? 1 : 0)
        case .integer(let integer): return .float(Double(integer))
        case .string(let text):
            switch number(text) {
            case .integer(let integer): return .float(Double(integer))
            case .float(let float): return .float(float)
            default: return nil
            }
        case .null, .bytes, .array, .object: return nil
        }
    }

    private static func boolean(_ value: Value) -> Value? {
        switch value {
        case .bool: return value
        case .integer(let integer): return .bool(integer != 0)
        case .float(let float): return float.isNaN ? nil : .bool(float != 0)
        case .string(let text):
            guard text.utf8.count <= 5 else { return nil }
            return switch text.lowercased() {
            case "true": .bool(true)
            case "false": .bool(false)
            default: nil
            }
        case .null, .bytes, .array, .object: return nil
        }
    }

    private static func binary(_ value: Value) -> Value? {
        switch value {
        case .bytes: value
        case .string(let text): .bytes(Array(text.utf8))
        case .null, .bool, .integer, .float, .array, .object: nil
        }
    }

    /// Returns the number that a text represents in JSON syntax without surrounding spaces, or nil.
    private static func number(_ text: String) -> Value? {
        guard let first = text.utf8.first, isDigit(first) || first == UInt8(ascii: "-"),
            let last = text.utf8.last, isDigit(last)
        else { return nil }
        return try? Value(json: text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
