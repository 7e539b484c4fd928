import SheafBytes
package import SheafDocument

/// The type of the values in a column of a CSV file.
package enum ColumnType: String, CaseIterable, Sendable {
    case text, integer, float, boolean
    /// A JSON text, such as an array.
    case json

    /// Returns the value of a field that is not empty; nil if it has another type.
    package func value(_ bytes: ArraySlice<UInt8>) -> Value? {
        switch self {
        case .text: return String(validating: bytes, as: UTF8.self).map { .string($0) }
        case .integer: return FieldText.integer(bytes).map { .integer($0) }
        case .float: return FieldText.float(bytes).map { .float($0) }
        case .boolean: return FieldText.boolean(bytes).map { .bool($0) }
        case .json: return try? Value(jsonBytes: Array(bytes))
        }
    }

    /// The type with its article, for messages.
    var phrase: String {
        switch self {
        case .text: "valid UTF-8"
        case .integer: "an integer of 64 bits"
        case .float: "a number"
        case .boolean: "true or false"
        case .json: "a JSON value"
        }
    }
}

/// The types that all fields of a column permit.
package struct ColumnEvidence: Sendable {
    private var isEmpty = true
    private var isInteger = true
    private var isNumber = true
    private var isBoolean = true
    /// Whether an integer has no equal float.
    private var hasLongInteger = false

    /// Integers up to this magnitude are floats, too.
    private static let maximumFloatInteger: UInt64 = 1 << 53

    package init() {}

    /// Adds a field that is not empty.
    package mutating func add(_ bytes: ArraySlice<UInt8>) {
        isEmpty = false
        guard isNumber || isBoolean else { return }
        if isNumber {
            if let integer = FieldText.integer(bytes) {
                if integer.magnitude > Self.maximumFloatInteger { hasLongInteger = true }
            } else {
                isInteger = false
                isNumber = FieldText.isFloat(bytes)
            }
        }
        if isBoolean { isBoolean = FieldText.boolean(bytes) != nil }
    }

    /// The type that all fields have.
    package var type: ColumnType {
        if isEmpty { return .text }
        if isBoolean { return .boolean }
        if isInteger && isNumber { return .integer }
        return isNumber && !hasLongInteger ? .float : .text
    }
}

/// Numbers and Booleans as fields spell them.
enum FieldText {
    /// Returns the integer that the text is in decimal, without a sign + and leading zeros.
    static func integer(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = bytes.dropFirst(isNegative ? 1 : 0)
        guard let first = digits.first, digits.count <= 19 else { return nil }
        // Leading zeros belong to codes, which are no numbers; neither is -0.
        guard first != UInt8(ascii: "0") || digits.count == 1 && !isNegative else { return nil }
        var magnitude: UInt64 = 0
        for byte in digits {
            let digit = byte &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            magnitude = magnitude * 10 + UInt64(digit)
        }
        guard isNegative else { return Int64(exactly: magnitude) }
        return magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
    }

    /// Returns the finite float that the text is, without a sign + and leading zeros.
    static func float(_ bytes: ArraySlice<UInt8>) -> Double? {
        guard isDecimal(bytes), let value = Double(String(decoding: bytes, as: UTF8.self)),
            value.isFinite
        else { return nil }
        return value
    }

    /// Whether a column with this text can be one of floats.
    ///
    /// A long integer is no float, because digits would be lost.
    static func isFloat(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.contains { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: "-") }
            && float(bytes) != nil
    }

    private static func isDecimal(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        func digits(_ rest: inout ArraySlice<UInt8>) -> Int {
            let count = rest.prefix { (0x30...0x39).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let first = rest.first
        let whole = digits(&rest)
        guard whole <= 1 || first != UInt8(ascii: "0") else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard digits(&rest) > 0 else { return false }
        } else {
            guard whole > 0 else { return false }
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if let sign = rest.first, [UInt8(ascii: "-"), UInt8(ascii: "+")].contains(sign) {
                rest = rest.dropFirst()
            }
            guard digits(&rest) > 0 else { return false }
        }
        return rest.isEmpty
    }

    private static let booleans: [[UInt8]: Bool] = [
        Array("true".utf8): true, Array("True".utf8): true, Array("TRUE".utf8): true,
        Array("false".utf8): false, Array("False".utf8): false, Array("FALSE".utf8): false,
    ]

    /// Returns the Boolean that the text is.
    static func boolean(_ bytes: ArraySlice<UInt8>) -> Bool? {
        (4...5).contains(bytes.count) ? booleans[Array(bytes)] : nil
    }
}
