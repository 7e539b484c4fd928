import SwiftSyntax

/// Finds the sites of a file.
///
/// Texts and descriptions have no sites: string literals, `description` and the like. Neither have
/// preconditions, which only a defect violates, capacities that are reserved for later, attributes,
/// raw values, and inactive clauses of `#if`.
final class SiteFinder: SyntaxVisitor {
    /// The sites found, in the order of the source.
    private(set) var sites: [Site] = []

    private let path: String
    private let locations: SourceLocationConverter
    private let conditions: Set<String>

    /// Properties whose value is a text for people.
    private static let descriptions: Set = [
        "customMirror", "debugDescription", "description", "errorDescription", "help", "usage",
    ]
    /// Functions that stop the program if it has a defect, and one that changes no content.
    private static let excludedFunctions: Set = [
        "assert", "assertionFailure", "fatalError", "precondition", "preconditionFailure",
        "reserveCapacity",
    ]

    /// Creates a finder for a file with folded operators.
    init(path: String, tree: Syntax, conditions: Set<String>) {
        self.path = path
        self.conditions = conditions
        locations = SourceLocationConverter(fileName: path, tree: tree)
        super.init(viewMode: .sourceAccurate)
    }

    /// Adds a site that a syntax node covers, without the comments around it.
    func add(
        _ node: some SyntaxProtocol, _ kind: String, _ changes: [String],
        form: Site.Form = .expression
    ) {
        add(
            node, kind, changes, form: form,
            from: node.positionAfterSkippingLeadingTrivia.utf8Offset,
            to: node.endPositionBeforeTrailingTrivia.utf8Offset)
    }

    /// Adds a site of chosen offsets within a syntax node.
    func add(
        _ node: some SyntaxProtocol, _ kind: String, _ changes: [String], form: Site.Form,
        from start: Int, to end: Int
    ) {
        guard !changes.isEmpty else { return }
        sites.append(
            Site(
                path: path, line: line(of: AbsolutePosition(utf8Offset: start)), start: start,
                end: end, declaration: declaration(around: Syntax(node)), kind: kind, form: form,
                before: start == end ? "" : node.trimmedDescription, changes: changes))
    }

    /// Whether the sites of a call are left out.
    func isExcluded(_ call: FunctionCallExprSyntax) -> Bool {
        let called = call.calledExpression
        let member = called.as(MemberAccessExprSyntax.self)?.declName.baseName.text
        return Self.excludedFunctions.contains(member ?? called.trimmedDescription)
    }

    private func line(of position: AbsolutePosition) -> Int {
        locations.location(for: position).line
    }

    private func declaration(around node: Syntax) -> ClosedRange<Int> {
        var node = node
        while let parent = node.parent, !node.isDeclarationWithBody { node = parent }
        return line(of: node.positionAfterSkippingLeadingTrivia)...line(of: node.endPosition)
    }

    override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: EnumCaseElementSyntax) -> SyntaxVisitorContinueKind {
        .skipChildren
    }
    override func visit(_ node: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        .skipChildren
    }
    override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind {
        .skipChildren
    }
    override func visit(_ node: AvailabilityConditionSyntax) -> SyntaxVisitorContinueKind {
        .skipChildren
    }

    override func visit(_ node: PatternBindingSyntax) -> SyntaxVisitorContinueKind {
        let isText = node.typeAnnotation?.type.trimmedDescription.hasPrefix("String") ?? false
        return isText && Self.descriptions.contains(node.pattern.trimmedDescription)
            ? .skipChildren : .visitChildren
    }

    override func visit(_ node: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind {
        for clause in node.clauses {
            let condition = clause.condition?.trimmedDescription
            guard condition.map(conditions.contains) ?? true else { continue }
            if let elements = clause.elements { walk(elements) }
            break
        }
        return .skipChildren
    }

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        addChanges(of: node)
        return .visitChildren
    }

    override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        if node.operator.text == "!" {
            add(node, "negation", [node.expression.trimmedDescription])
        }
        return .visitChildren
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        addChanges(of: node)
        return .visitChildren
    }

    override func visit(_ node: FloatLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        add(node, "constant", ["\(node.trimmedDescription) * 2", "\(node.trimmedDescription) / 2"])
        return .visitChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        // Without `while true`, a function would have to return at its end.
        if node.parent?.parent?.parent?.is(WhileStmtSyntax.self) != true {
            add(node, "constant", [node.literal.text == "true" ? "false" : "true"])
        }
        return .visitChildren
    }

    // A `switch` over changed patterns is often not exhaustive.
    override func visit(_ node: SwitchCaseItemSyntax) -> SyntaxVisitorContinueKind {
        if let condition = node.whereClause { walk(condition) }
        return .skipChildren
    }

    override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
        addChanges(of: node)
        return .visitChildren
    }

    override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
        addNegation(of: node.condition)
        return .visitChildren
    }

    override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
        addNegation(of: node.condition)
        return .visitChildren
    }

    override func visit(_ node: LabeledExprSyntax) -> SyntaxVisitorContinueKind {
        node.label?.text == "keepingCapacity" ? .skipChildren : .visitChildren
    }

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        addRemoval(of: node)
        return .visitChildren
    }

    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        addReturn(to: node)
        return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        if isExcluded(node) { return .skipChildren }
        addChanges(of: node)
        return .visitChildren
    }
}

extension Syntax {
    /// Whether the node is a declaration with a body, in a type or a file.
    fileprivate var isDeclarationWithBody: Bool {
        switch kind {
        case .functionDecl, .initializerDecl, .deinitializerDecl, .subscriptDecl: true
        case .variableDecl: parent?.is(MemberBlockItemSyntax.self) == true
        default: false
        }
    }
}
