/// The total order of values.
///
/// Ascending: false, true, numbers, bytes, strings by their UTF-8 bytes, arrays, objects, null.
/// Integers and floats are compared numerically. Negative zero equals zero; NaN is greater than all
/// numbers, and equals itself.
extension Value: Comparable, Hashable {
    /// Whether two values are equal; 1 equals 1.0, and NaN equals itself.
    public static func == (left: Value, right: Value) -> Bool {
        left.compare(right) == 0
    }

    /// Whether a value precedes another one in the order of `ORDER BY`.
    public static func < (left: Value, right: Value) -> Bool {
        left.compare(right) < 0
    }

    /// Returns a negative number if this value is less, and zero if both are equal.
    package func compare(_ other: Value) -> Int {
        switch (self, other) {
        case (.integer(let left), .integer(let right)):
            return NumberOrder.compare(left, right)
        case (.float(let left), .float(let right)):
            return NumberOrder.compare(left, right)
        case (.integer(let left), .float(let right)):
            return NumberOrder.compare(left, right)
        case (.float(let left), .integer(let right)):
            return -NumberOrder.compare(right, left)
        case (.string(let left), .string(let right)):
            return UTF8Order.compare(left, right)
        case (.bool(let left), .bool(let right)):
            return (left ? 1 : 0) - (right ? 1 : 0)
        case (.bytes(let left), .bytes(let right)):
            return left.withUnsafeBytes { left in
                right.withUnsafeBytes { UTF8Order.compare(left, $0) }
            }
        case (.array(let left), .array(let right)):
            for (left, right) in zip(left, right) {
                let result = left.compare(right)
                if result != 0 { return result }
            }
            return left.count - right.count
        case (.object(let left), .object(let right)):
            for (left, right) in zip(left, right) {
                let names = UTF8Order.compare(left.name, right.name)
                if names != 0 { return names }
                let values = left.value.compare(right.value)
                if values != 0 { return values }
            }
            return left.count - right.count
        default:
            return kind.rawValue - other.kind.rawValue
        }
    }

    /// Hashes the value; equal integers and floats have equal hashes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind.rawValue)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .float(let value):
            // A float equal to an integer has the hash of that integer.
            if let integer = Int64(exactly: value) {
                hasher.combine(integer)
            } else {
                hasher.combine(value.isNaN ? Double.nan.bitPattern : value.bitPattern)
            }
        case .string(let value):
            // The hash of `String` follows Unicode equivalence.
            hasher.combine(text: value)
        case .bytes(let value): hasher.combine(value)
        case .array(let values): hasher.combine(values)
        case .object(let object): hasher.combine(object)
        }
    }
}

extension Object: Hashable {
    /// Whether two objects have the same names with equal values.
    public static func == (left: Object, right: Object) -> Bool {
        left.elementsEqual(right)
    }

    /// Hashes names and values in the order of names.
    public func hash(into hasher: inout Hasher) {
        for field in self { hasher.combine(field) }
    }
}

extension Object.Field: Hashable {
    /// Whether the names have the same bytes and the values are equal.
    public static func == (left: Self, right: Self) -> Bool {
        UTF8Order.compare(left.name, right.name) == 0 && left.value == right.value
    }

    /// Hashes the bytes of the name, and the value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text: name)
        hasher.combine(value)
    }
}

extension Hasher {
    /// Hashes the bytes of a text, and a terminator.
    fileprivate mutating func combine(text: String) {
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
        combine(0xFF as UInt8)
    }
}

/// The numeric order of integers and floats, without rounding.
package enum NumberOrder {
    package static func compare(_ left: Int64, _ right: Int64) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    /// Compares two floats; NaN is greater than all numbers.
    package static func compare(_ left: Double, _ right: Double) -> Int {
        if left < right { return -1 }
        if left > right { return 1 }
        if left == right { return 0 }
        return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0)
    }

    package static func compare(_ left: Int64, _ right: Double) -> Int {
        // The bounds are powers of two, which floats represent exactly.
        guard right < 0x1p63 else { return -1 }
        guard right >= -0x1p63 else { return right.isNaN ? -1 : 1 }
        let whole = right.rounded(.towardZero)
        let integer = Int64(whole)
        if left != integer { return left < integer ? -1 : 1 }
        return whole < right ? -1 : whole == right ? 0 : 1
    }
}
