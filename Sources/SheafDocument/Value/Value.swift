/// A value of a document: what JSON can say, with integers apart from floats, and bytes.
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
    /// How deep arrays and objects may lie in one another.
    public static let maximumDepth = 64

    /// What a value is, without what it says.
    ///
    /// The order is that of all values: whatever is a boolean comes before every number.
    public enum Kind: Int, Comparable, Sendable {
        case boolean, number, bytes, string, array, object, null

        public static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    /// What this value is.
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

    /// The value at the end of a path of field names; nil where there is none.
    public subscript(path: String...) -> Value? {
        var value = self
        for name in path {
            guard case .object(let object) = value, let next = object[name] else { return nil }
            value = next
        }
        return value
    }
}

// There is no literal `nil`: a field that is null is there, and a comparison with `nil` asks
// whether it is.
extension Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .float(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: Value...) { self = .array(elements) }

    /// Of two fields with one name the later stays.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .object(Object(elements))
    }
}
