package import SheafDocument

/// What the operators of the language do with values, where nil is MISSING.
///
/// Three rules hold for all of them, in this order: what is missing or of a wrong type makes the
/// result MISSING; NULL beside right types makes it NULL; a number that cannot be told (an overflow,
/// a division by zero, infinity) is MISSING.
package enum Operators {
    /// The value that a path of names leads to; through what is no object it leads nowhere.
    package static func value(at names: ArraySlice<String>, of root: Value?) -> Value? {
        var value = root
        for name in names {
            guard case .object(let object) = value else { return nil }
            value = object[name]
        }
        return value
    }

    /// What IS says, which is never unknown.
    package static func test(_ test: Test, _ value: Value?) -> Bool {
        switch (test, value) {
        case (.missing, nil), (.null, .null), (.yes, .bool(true)), (.no, .bool(false)): true
        default: false
        }
    }

    /// Whether CASE takes a branch: only a comparison that is true does.
    package static func matches(_ subject: Value?, _ candidate: Value?) -> Bool {
        compare(.equal, subject, candidate) == .yes
    }

    /// A float as the result of a computation; MISSING where it is none.
    static func result(_ float: Double) -> Value? {
        float.isFinite ? .float(float) : nil
    }

    /// NULL where something is null and all else has the kinds that are wanted, else MISSING.
    ///
    /// This is the answer where the values are not as an operation wants them. Nil stands for any
    /// kind; values behind the last kind have that one, too.
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
