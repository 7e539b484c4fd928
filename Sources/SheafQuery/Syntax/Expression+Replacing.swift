extension Expression {
    /// Returns a copy in which subexpressions are replaced where `body` returns a replacement.
    ///
    /// Replacements are not searched. Quantifiers and comprehensions are kept as they are, because
    /// their variables must not capture names.
    func replacing(_ body: (Expression) -> Expression?) -> Expression {
        if let other = body(self) { return other }
        func replaced(_ expression: Expression) -> Expression { expression.replacing(body) }
        let node: Node =
            switch node {
            case .literal, .missing, .parameter, .path, .quantified, .comprehension: node
            case .array(let elements): .array(elements.map(replaced))
            case .and(let terms): .and(terms.map(replaced))
            case .or(let terms): .or(terms.map(replaced))
            case .xor(let terms): .xor(terms.map(replaced))
            case .object(let fields):
                .object(fields.map { ObjectField($0.name, replaced($0.value)) })
            case .negate(let operand): .negate(replaced(operand))
            case .not(let operand): .not(replaced(operand))
            case .test(let test, let operand, let isNegated):
                .test(test, replaced(operand), isNegated: isNegated)
            case .cast(let operand, let type): .cast(replaced(operand), type)
            case .arithmetic(let first, let steps):
                .arithmetic(
                    replaced(first),
                    steps.map { ArithmeticStep($0.operation, replaced($0.operand)) })
            case .comparison(let operation, let left, let right):
                .comparison(operation, replaced(left), replaced(right))
            case .membership(let element, let list, let isNegated):
                .membership(replaced(element), of: replaced(list), isNegated: isNegated)
            case .between(let operand, let low, let high, let isNegated):
                .between(
                    replaced(operand), low: replaced(low), high: replaced(high),
                    isNegated: isNegated)
            case .pattern(let pattern):
                .pattern(
                    Pattern(
                        pattern.kind, replaced(pattern.subject), replaced(pattern.pattern),
                        escape: pattern.escape.map(replaced), isNegated: pattern.isNegated))
            case .call(let call):
                .call(
                    Call(
                        call.name, call.arguments.map(replaced), isDistinct: call.isDistinct,
                        isStar: call.isStar))
            case .conditional(let conditional):
                .conditional(
                    Conditional(
                        subject: conditional.subject.map(replaced),
                        branches: conditional.branches.map {
                            Conditional.Branch(when: replaced($0.when), then: replaced($0.then))
                        }, otherwise: conditional.otherwise.map(replaced)))
            }
        return Expression(node, at: range)
    }
}
