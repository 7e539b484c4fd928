package import SheafDocument

/// What a condition says: true, false, or one of two ways not to know.
///
/// AND, OR and NOT are those of SQL, for which null and missing are both unknown. Of two unknowns
/// missing wins, as it does in every other operator: so both are commutative and associative, and
/// NOT turns one into the other.
package enum Truth: Sendable {
    case yes, no, null, missing

    package init(_ isTrue: Bool) {
        self = isTrue ? .yes : .no
    }

    /// What a value means where a condition is wanted: what is no boolean is MISSING.
    package init(_ value: Value?) {
        switch value {
        case .bool(let isTrue): self.init(isTrue)
        case .null: self = .null
        default: self = .missing
        }
    }

    /// The value that a condition is where it stands for one.
    package var value: Value? {
        switch self {
        case .yes: .bool(true)
        case .no: .bool(false)
        case .null: .null
        case .missing: nil
        }
    }

    /// NOT.
    package var negated: Truth {
        switch self {
        case .yes: .no
        case .no: .yes
        case .null, .missing: self
        }
    }

    /// False if one is false, then missing, then null.
    package func and(_ other: Truth) -> Truth {
        if self == .no || other == .no { return .no }
        return unknown(with: other) ?? .yes
    }

    /// True if one is true, then missing, then null.
    package func or(_ other: Truth) -> Truth {
        if self == .yes || other == .yes { return .yes }
        return unknown(with: other) ?? .no
    }

    /// True if exactly one is true, and unknown where one is unknown.
    package func xor(_ other: Truth) -> Truth {
        unknown(with: other) ?? Truth((self == .yes) != (other == .yes))
    }

    private func unknown(with other: Truth) -> Truth? {
        if self == .missing || other == .missing { return .missing }
        return self == .null || other == .null ? .null : nil
    }
}
