import SwiftSyntax

/// The changes of each kind of syntax node.
extension SiteFinder {
    private static let comparisons = [
        "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
        "==": ["!="], "!=": ["=="], "===": ["!=="], "!==": ["==="],
    ]
    private static let logical = ["&&": ["||"], "||": ["&&"]]
    private static let arithmetic = [
        "+": ["-"], "-": ["+"], "&+": ["&-"], "&-": ["&+"], "+=": ["-="], "-=": ["+="],
        "&+=": ["&-="], "&-=": ["&+="],
    ]

    /// Adds the other operators of an expression, and the expression without `+ 1` or `- 1`.
    func addChanges(of node: InfixOperatorExprSyntax) {
        guard let name = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else {
            return
        }
        func texts(_ operators: [String]) -> [String] {
            operators.map {
                "\(node.leftOperand.trimmedDescription) \($0) \(node.rightOperand.trimmedDescription)"
            }
        }
        add(node, "comparison", texts(Self.comparisons[name] ?? []))
        add(node, "logical operator", texts(Self.logical[name] ?? []))
        var changes = texts(Self.arithmetic[name] ?? [])
        if !changes.isEmpty, !name.hasSuffix("="), node.rightOperand.trimmedDescription == "1" {
            changes.append(node.leftOperand.trimmedDescription)
        }
        add(node, "arithmetic", changes)
    }

    /// Adds the neighbors of a constant, and its double.
    func addChanges(of node: IntegerLiteralExprSyntax) {
        let digits = node.literal.text.filter { $0 != "_" }
        let radix = ["0x": 16, "0b": 2, "0o": 8][digits.prefix(2)] ?? 10
        guard
            let value = UInt64(radix == 10 ? digits : String(digits.dropFirst(2)), radix: radix),
            value < UInt64(Int64.max) / 2
        else { return }
        var changes = ["\(value + 1)"]
        if value > 0 { changes.append("\(value - 1)") }
        if value > 2 { changes.append("\(value * 2)") }
        add(node, "constant", changes)
    }

    /// Adds a guard that always holds, an `if` without `else` that never does, and negations.
    func addChanges(of node: ConditionElementSyntax) {
        guard case .expression(let condition) = node.condition else { return }
        addNegation(of: condition)
        let statement = node.parent?.parent
        if statement?.is(GuardStmtSyntax.self) == true {
            add(condition, "guard skipped", ["true"])
        } else if let conditional = statement?.as(IfExprSyntax.self), conditional.elseBody == nil {
            add(condition, "body skipped", ["false"])
        }
    }

    /// Adds the negation of a condition that has no other operator.
    func addNegation(of condition: ExprSyntax) {
        // The negation of these is one of their own changes.
        let infix = condition.as(InfixOperatorExprSyntax.self)?.operator
        let name = infix?.as(BinaryOperatorExprSyntax.self)?.operator.text ?? ""
        if Self.comparisons[name] != nil || condition.is(BooleanLiteralExprSyntax.self)
            || condition.as(PrefixOperatorExprSyntax.self)?.operator.text == "!"
        {
            return
        }
        add(condition, "negation", ["!(\(condition.trimmedDescription))"])
    }

    /// Adds the removal of a statement.
    func addRemoval(of node: CodeBlockItemSyntax) {
        guard !node.isResult else { return }
        switch node.item {
        case .expr(let expression): addRemoval(of: expression, in: node)
        case .stmt(let statement):
            let exits = statement.is(ReturnStmtSyntax.self) || statement.is(ThrowStmtSyntax.self)
            let jumps = statement.is(ContinueStmtSyntax.self) || statement.is(BreakStmtSyntax.self)
            // Elsewhere, a function or a `guard` would continue at its end.
            if exits || jumps, node.parent?.parent?.parent?.is(IfExprSyntax.self) == true {
                add(node, "statement removed", [""], form: .removal)
            }
        default: break
        }
    }

    private func addRemoval(of expression: ExprSyntax, in node: CodeBlockItemSyntax) {
        var inner = expression
        while true {
            if let tried = inner.as(TryExprSyntax.self) {
                inner = tried.expression
            } else if let awaited = inner.as(AwaitExprSyntax.self) {
                inner = awaited.expression
            } else {
                break
            }
        }
        if let call = inner.as(FunctionCallExprSyntax.self) {
            if isExcluded(call) { return }
            add(node, "statement removed", [""], form: .removal)
        } else if let infix = inner.as(InfixOperatorExprSyntax.self), infix.isAssignment,
            !infix.operator.is(AssignmentExprSyntax.self) || !infix.isInitialization
        {
            add(node, "statement removed", [""], form: .removal)
        }
    }

    /// Adds a return at the start of a function without a result.
    func addReturn(to node: FunctionDeclSyntax) {
        guard let body = node.body, node.signature.returnClause == nil,
            let first = body.statements.first
        else { return }
        // The removal of the only statement has the same effect.
        if body.statements.count == 1, case .expr = first.item { return }
        let offset = body.leftBrace.endPositionBeforeTrailingTrivia.utf8Offset
        add(
            body.statements, "early return", [" return"], form: .insertion, from: offset,
            to: offset)
    }

    /// Adds `max` for `min`, and calls with two arguments exchanged.
    func addChanges(of node: FunctionCallExprSyntax) {
        let arguments = node.arguments
        addExtreme(of: node)
        let texts = arguments.map(\.expression.trimmedDescription)
        var changes: [String] = []
        for (index, (first, second)) in zip(arguments, arguments.dropFirst()).enumerated()
        where first.expression.isName && second.expression.isName
            && texts[index] != texts[index + 1]
        {
            var exchanged = Array(arguments)
            exchanged[index].expression = second.expression.trimmed
            exchanged[index + 1].expression = first.expression.trimmed
            changes.append(
                node.with(\.arguments, LabeledExprListSyntax(exchanged)).trimmedDescription)
        }
        add(node, "arguments exchanged", changes)
    }

    private func addExtreme(of node: FunctionCallExprSyntax) {
        let others = ["min": "max", "max": "min"]
        var changed = node.trimmed
        if let name = node.calledExpression.as(DeclReferenceExprSyntax.self) {
            guard let other = others[name.baseName.text] else { return }
            changed.calledExpression = ExprSyntax(
                DeclReferenceExprSyntax(baseName: .identifier(other)))
        } else if var member = node.calledExpression.as(MemberAccessExprSyntax.self) {
            guard let other = others[member.declName.baseName.text] else { return }
            member.declName = DeclReferenceExprSyntax(baseName: .identifier(other))
            changed.calledExpression = ExprSyntax(member)
        }
        guard
            changed.calledExpression.trimmedDescription
                != node.calledExpression.trimmedDescription
        else { return }
        add(node, "minimum or maximum", [changed.trimmedDescription])
    }
}

extension CodeBlockItemSyntax {
    /// Whether the item is the only one of a body and its value; closures count as such bodies.
    fileprivate var isResult: Bool {
        guard let list = parent, list.children(viewMode: .sourceAccurate).count == 1,
            let body = list.parent
        else { return false }
        if body.is(ClosureExprSyntax.self) || body.is(AccessorBlockSyntax.self) { return true }
        if body.is(SwitchCaseSyntax.self) { return Syntax(body.parent?.parent)?.isValue ?? false }
        guard let owner = body.parent else { return false }
        if let function = owner.as(FunctionDeclSyntax.self) {
            return function.signature.returnClause != nil
        }
        if let accessor = owner.as(AccessorDeclSyntax.self) {
            return accessor.accessorSpecifier.text == "get"
        }
        return owner.is(IfExprSyntax.self) && owner.isValue
    }
}

extension Syntax {
    /// Whether a conditional or a `switch` is an expression whose value is used.
    fileprivate var isValue: Bool {
        guard let parent else { return false }
        if parent.is(IfExprSyntax.self) { return parent.isValue }
        guard let statement = parent.as(ExpressionStmtSyntax.self) else { return true }
        return statement.parent?.as(CodeBlockItemSyntax.self)?.isResult ?? false
    }
}

extension InfixOperatorExprSyntax {
    /// Whether the expression changes its left operand.
    fileprivate var isAssignment: Bool {
        if self.operator.is(AssignmentExprSyntax.self) { return true }
        let name = self.operator.as(BinaryOperatorExprSyntax.self)?.operator.text ?? ""
        return name.hasSuffix("=") && !["==", "!=", "<=", ">=", "===", "!=="].contains(name)
    }

    /// Whether the expression gives a variable or property its first value, as far as is visible.
    fileprivate var isInitialization: Bool {
        var node = parent
        while let current = node {
            if current.is(InitializerDeclSyntax.self) { return true }
            if current.is(FunctionDeclSyntax.self) || current.is(ClosureExprSyntax.self) { break }
            node = current.parent
        }
        let name = leftOperand.trimmedDescription
        guard let body = node else { return false }
        let declarations = FirstValues(viewMode: .sourceAccurate)
        declarations.walk(body)
        return declarations.names.contains(name)
    }
}

extension ExprSyntax {
    /// Whether the expression names a value, without computing another one.
    fileprivate var isName: Bool {
        `is`(DeclReferenceExprSyntax.self) || `is`(MemberAccessExprSyntax.self)
    }
}

/// Collects variables that are declared without a value.
private final class FirstValues: SyntaxVisitor {
    var names: Set<String> = []

    override func visit(_ node: PatternBindingSyntax) -> SyntaxVisitorContinueKind {
        if node.initializer == nil, node.accessorBlock == nil {
            names.insert(node.pattern.trimmedDescription)
        }
        return .visitChildren
    }
}
