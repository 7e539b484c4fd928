package import SheafDocument

/// The result of a condition: true, false, null or missing.
///
/// AND, OR and NOT follow the three-valued logic of SQL, in which null and missing are both
/// unknown. Missing takes precedence over null, as in all operators, which makes AND and OR
/// commutative and associative. NOT leaves both unchanged.
package enum Truth: Sendable {
    case yes, no, null, missing

    package init(_ isTrue: Bool) {
        self = isTrue ? .yes : .no
    }

    /// Creates the truth of a value; anything but a boolean or null is MISSING.
    package init(_ value: Value?) {
        switch value {
        case .bool(let isTrue): self.init(isTrue)
        case .null: self = .null
        default: self = .missing
        }
    }

    /// The truth as a value.
    package var value: Value? {
        switch self {
        case .yes: .bool(true)
        case .no: .bool(false)
        case .null: .null
        case .missing: nil
        }
    }

    /// The result of NOT.
    package var negated: Truth {
        switch self {
        case .yes: .no
        case .no: .yes
        case .null, .missing: self
        }
    }

    /// Returns false if one is false; otherwise missing takes precedence over null, and null over
    /// true.
    package func and(_ other: Truth) -> Truth {
        if self == .no || other == .no { return .no }
        return unknown(with: other) ?? .yes
    }

    /// Returns true if one is true; otherwise missing takes precedence over null, and null over
    /// false.
    package func or(_ other: Truth) -> Truth {
        if self == .yes || other == .yes { return .yes }
        return unknown(with: other) ?? .no
    }

    /// Returns true if exactly one is true; unknown if one is unknown.
    package func xor(_ other: Truth) -> Truth {
        unknown(with: other) ?? Truth((self == .yes) != (other == .yes))
    }

    private func unknown(with other: Truth) -> Truth? {
        if self == .missing || other == .missing { return .missing }
        return self == .null || other == .null ? .null : nil
    }
}
