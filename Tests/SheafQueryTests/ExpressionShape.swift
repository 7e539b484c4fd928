import SheafDocument
import SheafQuery

/// Expressions in prefix notation with all parentheses, which shows the tree.
enum ExpressionShape {
    static func of(_ text: String) throws -> String {
        of(try Parser.parseExpression(text))
    }

    static func of(_ expression: Expression) -> String {
        switch expression.node {
        case .literal(let value): value.json
        case .missing: "missing"
        case .parameter(let name): ":" + name
        case .path(let names): names.joined(separator: ".")
        case .array(let elements): list("array", elements)
        case .object(let fields):
            "(object" + fields.map { " \($0.name): \(of($0.value))" }.joined() + ")"
        case .negate(let operand): list("negate", [operand])
        case .not(let operand): list("not", [operand])
        case .arithmetic(let first, let steps):
            "(" + of(first) + steps.map { " \($0.operation.rawValue) \(of($0.operand))" }.joined()
                + ")"
        case .and(let terms): list("and", terms)
        case .or(let terms): list("or", terms)
        case .xor(let terms): list("xor", terms)
        case .comparison(let operation, let left, let right):
            list(operation.rawValue, [left, right])
        case .between(let subject, let low, let high, let isNegated):
            list(isNegated ? "not-between" : "between", [subject, low, high])
        case .membership(let element, let source, let isNegated):
            list(isNegated ? "not-in" : "in", [element, source])
        case .pattern(let pattern):
            list(
                (pattern.isNegated ? "not-" : "") + pattern.kind.rawValue,
                [pattern.subject, pattern.pattern] + (pattern.escape.map { [$0] } ?? []))
        case .test(let test, let subject, let isNegated):
            list((isNegated ? "is-not-" : "is-") + test.rawValue, [subject])
        case .conditional(let conditional): of(conditional)
        case .call(let call):
            list(
                call.name + (call.isDistinct ? "-distinct" : "") + (call.isStar ? "-star" : ""),
                call.arguments)
        case .cast(let value, let type): list("cast-" + type.rawValue, [value])
        case .quantified(let quantified):
            "(\(quantified.kind.rawValue)\(of(quantified.bindings)) \(of(quantified.condition)))"
        case .comprehension(let comprehension):
            list("for", [comprehension.key, comprehension.element].compactMap { $0 })
                + of(comprehension.bindings)
                + (comprehension.condition.map { " when \(of($0))" } ?? "")
        }
    }

    private static func list(_ name: String, _ elements: [Expression]) -> String {
        "(" + ([name] + elements.map { of($0) }).joined(separator: " ") + ")"
    }

    private static func of(_ conditional: Conditional) -> String {
        let branches = conditional.branches.map { " (\(of($0.when)) \(of($0.then)))" }.joined()
        let subject = conditional.subject.map { " \(of($0))" } ?? ""
        return "(case\(subject)\(branches)"
            + (conditional.otherwise.map { " else \(of($0))" } ?? "") + ")"
    }

    private static func of(_ bindings: [Binding]) -> String {
        bindings.map { " [\($0.variable) \($0.isDeep ? "within" : "in") \(of($0.source))]" }
            .joined()
    }
}
