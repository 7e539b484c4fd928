package import SheafDocument

/// Comparisons, which know an answer only between values of one type.
///
/// Integers and floats are one type, and are compared as the numbers that they are. Arrays and
/// objects are compared as whole values, in which null is a value like others.
extension Operators {
    /// What `=` and its relatives say.
    package static func compare(
        _ operation: ComparisonOperator, _ left: Value?, _ right: Value?
    ) -> Truth {
        guard let left, let right else { return .missing }
        if left.kind == .null || right.kind == .null { return .null }
        guard left.kind == right.kind else { return .missing }
        let order = left.compare(right)
        return switch operation {
        case .equal: Truth(order == 0)
        case .notEqual: Truth(order != 0)
        case .less: Truth(order < 0)
        case .lessOrEqual: Truth(order <= 0)
        case .greater: Truth(order > 0)
        case .greaterOrEqual: Truth(order >= 0)
        }
    }

    /// BETWEEN: both ends belong to it, and they are never swapped.
    package static func isBetween(_ value: Value?, _ low: Value?, _ high: Value?) -> Truth {
        compare(.greaterOrEqual, value, low).and(compare(.lessOrEqual, value, high))
    }

    /// `x IN list`, where the list has to be an array.
    package static func isMember(_ value: Value?, of list: Value?) -> Truth {
        switch list {
        case .array(let elements): return isMember(value, in: elements.lazy.map(Optional.some))
        case .null: return value == nil ? .missing : .null
        default: return .missing
        }
    }

    /// `x IN (a, b)`, whose elements may be missing.
    ///
    /// True if one is equal. An element of another type is another value, so that `NOT IN` works
    /// with lists of several types; with one that is null or missing nobody knows. In an empty list
    /// there is nothing, not even what is missing.
    package static func isMember(_ value: Value?, among elements: [Value?]) -> Truth {
        isMember(value, in: elements)
    }

    private static func isMember(_ value: Value?, in elements: some Sequence<Value?>) -> Truth {
        var result = Truth.no
        for element in elements {
            result = result.or(equalsMember(value, element))
            if result == .yes { break }
        }
        return result
    }

    private static func equalsMember(_ value: Value?, _ element: Value?) -> Truth {
        guard let value, let element else { return .missing }
        if value.kind == .null || element.kind == .null { return .null }
        return Truth(value == element)
    }
}
