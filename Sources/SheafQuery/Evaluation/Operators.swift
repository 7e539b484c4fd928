package import SheafDocument

/// The operators of the query language, where nil is MISSING.
///
/// Three rules apply in this order. An operand that is missing or of a wrong type yields MISSING.
/// NULL with valid operands yields NULL. A result that is not representable (overflow, division by
/// zero, infinity) is MISSING.
package enum Operators {
    /// Returns the value at a path; MISSING if the path leads through a value that is not an
    /// object.
    package static func value(at names: ArraySlice<String>, of root: Value?) -> Value? {
        var value = root
        for name in names {
            guard case .object(let object) = value else { return nil }
            value = object[name]
        }
        return value
    }

    /// Returns the result of IS, which is never unknown.
    package static func test(_ test: Test, _ value: Value?) -> Bool {
        switch (test, value) {
        case (.missing, nil), (.null, .null), (.yes, .bool(true)), (.no, .bool(false)): true
        default: false
        }
    }

    /// Whether CASE selects a branch, which requires a true comparison.
    package static func matches(_ subject: Value?, _ candidate: Value?) -> Bool {
        compare(.equal, subject, candidate) == .yes
    }

    /// Returns a computed float, or MISSING if it is not finite.
    static func result(_ float: Double) -> Value? {
        float.isFinite ? .float(float) : nil
    }

    /// Returns NULL if a value is null and all others have the expected kinds, and otherwise
    /// MISSING.
    ///
    /// Called when operands are invalid. A nil kind accepts any value; the last kind applies to all
    /// further values.
    static func unfit(_ values: [Value?], _ kinds: Value.Kind?...) -> Value? {
        var hasNull = false
        for (index, value) in values.enumerated() {
            guard let value else { return nil }
            if case .null = value {
                hasNull = true
            } else if let kind = kinds[min(index, kinds.count - 1)], value.kind != kind {
                return nil
            }
        }
        return hasNull ? .null : nil
    }
}
