import SheafDocument

/// What expressions behind GROUP BY can see: the keys of the groups, and aggregates.
struct GroupScope {
    /// An aggregate, and what it is of; none for rows.
    struct Column {
        let kind: AggregateKind
        let isDistinct: Bool
        let operand: Evaluator?
    }

    /// By the bytes of what tells expressions apart.
    private var keys: [[UInt8]: Int] = [:]
    private(set) var columns: [Column] = []
    /// The first of the interpolated values that one is the same as.
    private let firstNames: [String: String]

    /// Begins with what is grouped by.
    init(
        _ expressions: [Expression], _ scope: Scope, _ arguments: ArgumentValues
    ) throws(QueryError) {
        firstNames = expressions.isEmpty ? [:] : Self.firstNames(of: arguments)
        for (index, expression) in expressions.enumerated() {
            keys[try identity(of: expression, scope)] = index
        }
    }

    /// Which of the keys an expression is.
    func key(of expression: Expression, _ scope: Scope) throws(QueryError) -> Int? {
        guard !keys.isEmpty else { return nil }
        if case .literal = expression.node { return nil }
        return keys[try identity(of: expression, scope)]
    }

    mutating func add(_ kind: AggregateKind, isDistinct: Bool, _ operand: Evaluator?) -> Int {
        columns.append(Column(kind: kind, isDistinct: isDistinct, operand: operand))
        return columns.count - 1
    }

    /// The same bytes for the same expression, also where one path names its source and one not.
    private func identity(
        of expression: Expression, _ scope: Scope
    ) throws(QueryError) -> [UInt8] {
        let text = try text(of: expression, scope)
        return Array(text.utf8)
    }

    private func text(of expression: Expression, _ scope: Scope) throws(QueryError) -> String {
        guard case .path(let path) = expression.node else {
            var printer = Printer()
            printer.parameterNames = firstNames
            printer.write(expression)
            return printer.text
        }
        switch try scope.resolve(path, at: expression.range) {
        case .variable(let index, let rest): return "variable \(index) \(rest)"
        case .row(let source): return "row \(source)"
        case .id(let source, let rest): return "id \(source) \(rest)"
        case .field(let source, let path): return "field \(source) \(path)"
        }
    }

    /// Who interpolates a value twice means the same, though each time has its own name.
    private static func firstNames(of arguments: ArgumentValues) -> [String: String] {
        var names: [String: String] = [:]
        var firsts: [Value: [(value: Value, name: String)]] = [:]
        var number = 1
        while let value = arguments["$\(number)"] {
            let name = "$\(number)"
            // Equal values may yet differ, as 1 and 1.0 do.
            if let first = firsts[value]?.first(where: { $0.value.json == value.json }) {
                names[name] = first.name
            } else {
                firsts[value, default: []].append((value, name))
            }
            number += 1
        }
        return names
    }
}
