import SheafDocument

/// What expressions behind GROUP BY can see: the keys of the groups, and aggregates.
struct GroupScope {
    /// An aggregate, and what it is of; none for rows.
    struct Column {
        let kind: AggregateKind
        let isDistinct: Bool
        let operand: Evaluator?
    }

    private var keys: [String: Int] = [:]
    private(set) var columns: [Column] = []

    /// Begins with what is grouped by.
    init(_ expressions: [Expression], _ scope: Scope) throws(QueryError) {
        for (index, expression) in expressions.enumerated() {
            keys[try Self.identity(of: expression, scope)] = index
        }
    }

    /// Which of the keys an expression is.
    func key(of expression: Expression, _ scope: Scope) throws(QueryError) -> Int? {
        guard !keys.isEmpty else { return nil }
        if case .literal = expression.node { return nil }
        return keys[try Self.identity(of: expression, scope)]
    }

    mutating func add(_ kind: AggregateKind, isDistinct: Bool, _ operand: Evaluator?) -> Int {
        columns.append(Column(kind: kind, isDistinct: isDistinct, operand: operand))
        return columns.count - 1
    }

    /// The same text for the same expression, also where one path names its source and one not.
    private static func identity(
        of expression: Expression, _ scope: Scope
    ) throws(QueryError) -> String {
        guard case .path(let path) = expression.node else { return expression.description }
        switch try scope.resolve(path, at: expression.range) {
        case .variable(let index, let rest): return "variable \(index) \(rest)"
        case .row(let source): return "row \(source)"
        case .id(let source, let rest): return "id \(source) \(rest)"
        case .field(let source, let path): return "field \(source) \(path)"
        }
    }
}
