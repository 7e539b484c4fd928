import SheafDocument

/// Canonical forms of equal values.
///
/// 1 and 1.0 are equal and belong to one row or group. The form in the result must not depend on
/// the order in which a plan reads documents.
enum ValueForm {
    /// Whether `left` is the canonical form of two equal values.
    static func precedes(_ left: Value?, _ right: Value?) -> Bool { order(left, right) < 0 }

    /// Whether `left` is the canonical form of two equal rows.
    static func precedes(_ left: Object, _ right: Object) -> Bool { order(left, right) < 0 }

    /// Orders integers before floats and negative zero last.
    private static func order(_ left: Value?, _ right: Value?) -> Int {
        switch (left, right) {
        case (.integer, .float): return -1
        case (.float, .integer): return 1
        case (.float(let left), .float(let right)):
            guard left == 0 else { return 0 }
            return (left.sign == .minus ? 1 : 0) - (right.sign == .minus ? 1 : 0)
        case (.array(let left), .array(let right)):
            for (left, right) in zip(left, right) {
                let order = order(left, right)
                if order != 0 { return order }
            }
            return 0
        case (.object(let left), .object(let right)): return order(left, right)
        default: return 0
        }
    }

    private static func order(_ left: Object, _ right: Object) -> Int {
        for (left, right) in zip(left, right) {
            let order = order(left.value, right.value)
            if order != 0 { return order }
        }
        return 0
    }
}
