import SheafDocument

/// Printing of expressions with only the parentheses that the tree requires.
extension Expression: CustomStringConvertible {
    package var description: String {
        var printer = Printer()
        printer.write(self)
        return printer.text
    }

    /// Precedence of the outermost operator.
    fileprivate var precedence: Precedence {
        switch node {
        case .or: .or
        case .xor: .xor
        case .and: .and
        case .not: .not
        case .test: .test
        case .pattern: .pattern
        case .comparison, .between, .membership: .comparison
        case .arithmetic(_, let steps): steps.precedence
        default: .unary
        }
    }

    /// Whether a preceding minus would become part of the literal or begin a comment.
    fileprivate var swallowsMinus: Bool {
        switch node {
        case .negate: true
        case .literal(let value): value.kind == .number
        default: false
        }
    }
}

extension [ArithmeticStep] {
    /// Precedence of the operators in a chain.
    fileprivate var precedence: Precedence {
        switch first?.operation {
        case .concatenate?: .concatenation
        case .shiftLeft?, .shiftRight?: .shift
        case .add?, .subtract?: .sum
        default: .product
        }
    }
}

extension Printer {
    /// Writes an expression, in parentheses if it binds looser than `minimum`.
    mutating func write(_ expression: Expression, _ minimum: Precedence = .or) {
        let needsParentheses = expression.precedence.rawValue < minimum.rawValue
        if needsParentheses { write("(") }
        write(node: expression.node)
        if needsParentheses { write(")") }
    }

    private mutating func write(node: Expression.Node) {
        switch node {
        case .literal(let value): write(value: value)
        case .missing: write("MISSING")
        case .parameter(let name): write(":" + (parameterNames[name] ?? name))
        case .path(let names): write(path: names)
        case .array(let elements): write(list: elements, "[", "]")
        case .object(let fields): write(fields: fields)
        case .negate(let operand):
            write("-")
            if operand.swallowsMinus { write("(") }
            write(operand, .unary)
            if operand.swallowsMinus { write(")") }
        case .not(let operand):
            write("NOT ")
            write(operand, .not)
        case .and(let terms): write(terms, separator: " AND ") { $0.write($1, .not) }
        case .xor(let terms): write(terms, separator: " XOR ") { $0.write($1, .and) }
        case .or(let terms): write(terms, separator: " OR ") { $0.write($1, .xor) }
        case .arithmetic(let first, let steps): write(first, steps)
        case .comparison, .between, .membership, .pattern, .test: write(question: node)
        case .conditional(let conditional): write(conditional)
        case .call(let call): write(call)
        case .cast(let value, let type):
            write("CAST(")
            write(value)
            write(" AS \(type.rawValue))")
        case .quantified(let quantified): write(quantified)
        case .comprehension(let comprehension): write(comprehension)
        }
    }

    mutating func write(list: [Expression], _ start: String, _ end: String) {
        write(start)
        write(list) { $0.write($1) }
        write(end)
    }

    private mutating func write(fields: [ObjectField]) {
        write("{")
        write(fields) { printer, field in
            printer.write(string: field.name)
            printer.write(": ")
            printer.write(field.value)
        }
        write("}")
    }

    private mutating func write(_ first: Expression, _ steps: [ArithmeticStep]) {
        let precedence = steps.precedence
        write(first, precedence.tighter)
        for step in steps {
            write(" \(step.operation.rawValue) ")
            write(step.operand, precedence.tighter)
        }
    }

    private mutating func write(question node: Expression.Node) {
        switch node {
        case .comparison(let operation, let left, let right):
            write(left, .concatenation)
            write(" \(operation.rawValue) ")
            write(right, .concatenation)
        case .between(let subject, let low, let high, let isNegated):
            write(subject, .concatenation)
            write(isNegated ? " NOT BETWEEN " : " BETWEEN ")
            write(low, .concatenation)
            write(" AND ")
            write(high, .concatenation)
        case .membership(let element, let source, let isNegated):
            write(element, .concatenation)
            write(isNegated ? " NOT IN " : " IN ")
            if case .array(let elements) = source.node, !elements.isEmpty {
                write(list: elements, "(", ")")
            } else {
                write(source, .concatenation)
            }
        case .pattern(let pattern):
            write(pattern.subject, .comparison)
            write(pattern.isNegated ? " NOT " : " ")
            write(pattern.kind.rawValue + " ")
            write(pattern.pattern, .comparison)
            if let escape = pattern.escape {
                write(" ESCAPE ")
                write(escape, .concatenation)
            }
        case .test(let test, let subject, let isNegated):
            write(subject, .pattern)
            write(isNegated ? " IS NOT " : " IS ")
            write(test.rawValue)
        default: break
        }
    }

    private mutating func write(_ conditional: Conditional) {
        write("CASE")
        if let subject = conditional.subject {
            write(" ")
            write(subject)
        }
        for branch in conditional.branches {
            write(" WHEN ")
            write(branch.when)
            write(" THEN ")
            write(branch.then)
        }
        if let otherwise = conditional.otherwise {
            write(" ELSE ")
            write(otherwise)
        }
        write(" END")
    }

    private mutating func write(_ call: Call) {
        write(call.name)
        if call.isStar { return write("(*)") }
        write(list: call.arguments, call.isDistinct ? "(DISTINCT " : "(", ")")
    }

    private mutating func write(_ quantified: Quantified) {
        write(quantified.kind.rawValue + " ")
        write(quantified.bindings)
        write(" SATISFIES ")
        write(quantified.condition)
        write(" END")
    }

    private mutating func write(_ comprehension: Comprehension) {
        if let key = comprehension.key {
            write("OBJECT ")
            write(key)
            write(" : ")
        } else {
            write("ARRAY ")
        }
        write(comprehension.element)
        write(" FOR ")
        write(comprehension.bindings)
        if let condition = comprehension.condition {
            write(" WHEN ")
            write(condition)
        }
        write(" END")
    }

    private mutating func write(_ bindings: [Binding]) {
        write(bindings) { printer, binding in
            printer.write(name: binding.variable)
            printer.write(binding.isDeep ? " WITHIN " : " IN ")
            printer.write(binding.source)
        }
    }
}
