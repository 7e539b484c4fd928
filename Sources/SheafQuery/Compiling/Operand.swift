import SheafDocument

/// A value known when a statement runs: a literal or an argument.
enum Operand: Sendable {
    case literal(Value)
    case parameter(String)

    init?(_ expression: Expression) {
        switch expression.node {
        case .literal(let value): self = .literal(value)
        case .parameter(let name): self = .parameter(name)
        default: return nil
        }
    }

    /// Returns the value; nil if the argument is missing.
    func value(_ arguments: ArgumentValues) -> Value? {
        switch self {
        case .literal(let value): value
        case .parameter(let name): arguments[name]
        }
    }
}

extension Value {
    private static let longestID = 256

    /// Whether at most one document has this `_id`, and no other value denotes the same document.
    package var isFoundAlone: Bool {
        switch self {
        case .bool, .integer: true
        // Longer strings are not valid ids and are left to the plan.
        case .string(let text): text.utf8.count <= Self.longestID
        case .float, .null, .bytes, .array, .object: false
        }
    }
}
