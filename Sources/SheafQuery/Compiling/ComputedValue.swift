import SheafDocument

/// Size limits of computed arrays and objects.
///
/// Copies of a value share storage, so nested loops could create values too large to compare or
/// encode. Each occurrence is therefore counted separately.
enum ComputedValueSize {
    /// Number of bytes of a string, binary value or field name that count as one more part.
    private static let textUnit = 32

    /// Returns the value unchanged; throws if it has too many parts.
    static func checked(
        _ value: Value, parts limit: Int = QueryLimits.maximumElements
    ) throws(StoreError) -> Value {
        var rest = limit
        take(value, from: &rest)
        guard rest >= 0 else {
            throw StoreError(.limit, "a value has more than \(limit) parts")
        }
        return value
    }

    private static func take(_ value: Value, from rest: inout Int) {
        rest -= 1
        guard rest >= 0 else { return }
        switch value {
        case .null, .bool, .integer, .float: break
        case .string(let text): rest -= text.utf8.count / textUnit
        case .bytes(let bytes): rest -= bytes.count / textUnit
        case .array(let values):
            for value in values {
                take(value, from: &rest)
                if rest < 0 { return }
            }
        case .object(let object):
            for field in object {
                rest -= field.name.utf8.count / textUnit
                take(field.value, from: &rest)
                if rest < 0 { return }
            }
        }
    }
}
