package import SheafDocument

/// Comparisons, which are defined only for values of the same type.
///
/// Integers and floats are one type and are compared numerically. Arrays and objects are compared
/// as complete values, in which null is an ordinary value.
extension Operators {
    /// Returns the result of a comparison operator.
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

    /// Returns the result of BETWEEN, whose bounds are inclusive and never swapped.
    package static func isBetween(_ value: Value?, _ low: Value?, _ high: Value?) -> Truth {
        compare(.greaterOrEqual, value, low).and(compare(.lessOrEqual, value, high))
    }

    /// Returns the result of `x IN list`, where the list must be an array.
    package static func isMember(_ value: Value?, of list: Value?) -> Truth {
        switch list {
        case .array(let elements): return isMember(value, in: elements.lazy.map(Optional.some))
        case .null: return value == nil ? .missing : .null
        default: return .missing
        }
    }

    /// Returns the result of `x IN (a, b)`, whose elements may be missing.
    ///
    /// Elements of another type are unequal, so `NOT IN` works with lists of mixed types. Null or
    /// missing elements make the result unknown unless another element matches. An empty list
    /// yields false, even for a missing value.
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
