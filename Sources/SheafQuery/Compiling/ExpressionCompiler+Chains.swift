import SheafDocument

/// The accumulated result of a chain of operators of one precedence.
protocol OperatorChain {
    /// Creates a chain with the leftmost value.
    init(_ value: Value?)
    mutating func append(
        _ operation: ArithmeticOperator, _ value: Value?
    ) throws(StoreError)
    var value: Value? { get }
}

extension Concatenation: OperatorChain {
    mutating func append(
        _ operation: ArithmeticOperator, _ value: Value?
    ) throws(StoreError) {
        try append(value)
    }
}

/// A chain of arithmetic operators.
private struct Calculation: OperatorChain {
    private(set) var value: Value?

    init(_ value: Value?) {
        self.value = value
    }

    mutating func append(
        _ operation: ArithmeticOperator, _ value: Value?
    ) throws(StoreError) {
        self.value = try Operators.arithmetic(operation, self.value, value)
    }
}

extension ExpressionCompiler {
    /// Compiles a chain of operators into a loop, so that long chains do not recurse.
    func compileChain(
        _ first: Expression, _ steps: [ArithmeticStep], at range: SourceRange
    ) throws(StoreError) -> Compiled {
        let text = scope.text
        if steps.count == 1 {
            let operation = steps[0].operation
            return try Compiled.combine(
                try compile(first), try compile(steps[0].operand), in: context
            ) { (left, right, context) throws(StoreError) in
                try context.charge(left, right)
                do throws(StoreError) {
                    return try Operators.arithmetic(operation, left, right)
                } catch {
                    throw error.located(at: range, in: text)
                }
            }
        }
        do throws(StoreError) {
            // `||` has a precedence of its own, so its chains contain no other operator.
            return steps[0].operation == .concatenate
                ? try compile(first, steps, as: Concatenation.self, at: range)
                : try compile(first, steps, as: Calculation.self, at: range)
        } catch {
            throw error.located(at: range, in: text)
        }
    }

    private func compile<Chain: OperatorChain>(
        _ first: Expression, _ steps: [ArithmeticStep], as: Chain.Type, at range: SourceRange
    ) throws(StoreError) -> Compiled {
        let start = try compile(first)
        var known: Chain?
        if case .constant(let value) = start { known = Chain(value) }
        var rest: [(operation: ArithmeticOperator, operand: Evaluator)] = []
        for step in steps {
            let operand = try compile(step.operand)
            if rest.isEmpty, case .constant(let value) = operand, known != nil {
                try known?.append(step.operation, value)
            } else {
                rest.append((step.operation, operand.evaluator))
            }
        }
        if let known, rest.isEmpty { return .constant(known.value) }
        let (text, first, beginning, others) = (scope.text, start.evaluator, known, rest)
        return .dynamic { (frame) throws(StoreError) in
            var chain = if let beginning { beginning } else { Chain(try first(frame)) }
            for (operation, operand) in others {
                let value = try operand(frame)
                try frame.context.charge(value)
                do throws(StoreError) { try chain.append(operation, value) } catch {
                    throw error.located(at: range, in: text)
                }
            }
            return chain.value
        }
    }
}
