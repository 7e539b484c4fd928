/// The content of a value as a Swift type; nil if the value has another type.
///
///     let name = try item["address"]?["street"]?.string
///     let first = try item["tags"]?[0]?.string
extension Value {
    /// The integer, also of a float without a fraction.
    public var int: Int? {
        switch self {
        case .integer(let integer): Int(exactly: integer)
        case .float(let float): Int(exactly: float)
        default: nil
        }
    }

    /// The float, or the integer as the nearest float.
    public var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .float(let float): float
        default: nil
        }
    }

    /// The text.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The truth value; no other type is converted to it.
    public var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// The bytes.
    public var bytes: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// The elements.
    public var array: [Value]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The fields.
    public var object: Object? {
        if case .object(let object) = self { object } else { nil }
    }

    /// Whether the value is null, which is not the same as a missing value.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// An element of an array; nil outside of the array, and for other types.
    public subscript(index: Int) -> Value? {
        guard case .array(let elements) = self, elements.indices.contains(index) else {
            return nil
        }
        return elements[index]
    }
}
