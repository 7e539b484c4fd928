import SheafDocument

/// A value known when a statement runs: a literal or an argument.
enum Operand: Sendable {
    case literal(Value)
    case parameter(String)
    /// An object of such values.
    case object([(name: String, value: Operand)])

    init?(_ expression: Expression) {
        switch expression.node {
        case .literal(let value): self = .literal(value)
        case .parameter(let name): self = .parameter(name)
        default: return nil
        }
    }

    /// Creates the operand of an expression, which may be an object of literals and parameters.
    init?(composing expression: Expression) {
        guard case .object(let fields) = expression.node else {
            self.init(expression)
            return
        }
        var parts: [(name: String, value: Operand)] = []
        for field in fields {
            guard let value = Operand(field.value),
                !parts.contains(where: { $0.name.isSpelled(field.name) })
            else { return nil }
            parts.append((field.name, value))
        }
        self = .object(parts)
    }

    /// Returns the argument if it is an encoded document without a stamp.
    func unstampedDocument(_ arguments: ArgumentValues) -> UnstampedDocument? {
        guard case .parameter(let name) = self else { return nil }
        return arguments.unstampedDocument(name)
    }

    /// Returns the value; nil if the argument is missing.
    func value(_ arguments: ArgumentValues) -> Value? {
        switch self {
        case .literal(let value): return value
        case .parameter(let name): return arguments[name]
        case .object(let parts):
            var fields: [Object.Field] = []
            for part in parts {
                guard let value = part.value.value(arguments) else { return nil }
                fields.append(Object.Field(part.name, value))
            }
            return .object(Object(sorting: fields))
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
