import SheafDocument

/// Arrays and objects that expressions make.
///
/// One value may stand in them many times over, which costs nothing as long as nobody looks: loops
/// in loops could make what no memory holds, and no time compares. So what is made is weighed, as
/// if each part were there by itself.
enum MadeValue {
    /// A text weighs one more for so many bytes.
    private static let textUnit = 32

    /// The value itself; throws where it has too many parts.
    static func checked(
        _ value: Value, parts limit: Int = QueryLimits.maximumElements
    ) throws(QueryError) -> Value {
        var rest = limit
        take(value, from: &rest)
        guard rest >= 0 else {
            throw QueryError(.limit, "a value has more than \(limit) parts")
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
