/// A value of a document: the types of JSON, with separate integers and floats, and bytes.
public enum Value: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case float(Double)
    case string(String)
    case bytes([UInt8])
    case array([Value])
    case object(Object)
}

extension Value {
    /// Maximum nesting depth of arrays and objects.
    public static let maximumDepth = 64

    /// The type of a value, without its content.
    ///
    /// The order is that of values: any boolean is less than any number.
    public enum Kind: Int, Comparable, Sendable {
        case boolean, number, bytes, string, array, object, null

        public static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    /// The type of the value.
    public var kind: Kind {
        switch self {
        case .null: .null
        case .bool: .boolean
        case .integer, .float: .number
        case .string: .string
        case .bytes: .bytes
        case .array: .array
        case .object: .object
        }
    }

    /// The value at a path of field names; nil if there is none.
    public subscript(path: String...) -> Value? {
        var value = self
        for name in path {
            guard case .object(let object) = value, let next = object[name] else { return nil }
            value = next
        }
        return value
    }
}

// There is no `nil` literal: comparison with `nil` tests presence, and a null field is present.
extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .float(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: Value...) { self = .array(elements) }

    /// Creates an object; of duplicate names the last one wins.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .object(Object(elements))
    }
}
