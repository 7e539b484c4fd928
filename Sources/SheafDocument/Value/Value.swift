/// A value of a document: the types of JSON, with separate integers and floats, and bytes.
public enum Value: Sendable {
    /// NULL, which differs from a field that is missing.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer of 64 bits with a sign.
    case integer(Int64)
    /// A floating-point number of 64 bits.
    case float(Double)
    /// A text, compared by its UTF-8 bytes.
    case string(String)
    /// Bytes, which JSON contains as Base64 text.
    case bytes([UInt8])
    /// Values in order, of any types.
    case array([Value])
    /// Named values, in the order of their names.
    case object(Object)
}

extension Value {
    /// Maximum nesting depth of arrays and objects.
    public static let maximumDepth = 64

    /// The type of a value, without its content.
    ///
    /// The order is that of values: any boolean is less than any number.
    public enum Kind: Int, Comparable, Sendable {
        /// True and false.
        case boolean
        /// Integers and floats.
        case number
        /// Bytes.
        case bytes
        /// Texts.
        case string
        /// Arrays.
        case array
        /// Objects.
        case object
        /// NULL.
        case null

        /// Whether values of the left type precede values of the right one.
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
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a float, even for a literal such as `1.0`.
    public init(floatLiteral value: Double) { self = .float(value) }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }

    /// Creates an object; of duplicate names the last one wins.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .object(Object(elements))
    }
}
