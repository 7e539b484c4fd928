import SheafDocument

/// The expressions visible after GROUP BY: group keys and aggregates.
struct GroupScope {
    /// An aggregate and its operand; nil means that rows are counted.
    struct Column {
        let kind: AggregateKind
        let isDistinct: Bool
        let operand: Evaluator?
        /// The path of the operand if it is a visible field, or a part of the id, of the first
        /// source.
        let path: ColumnPath?
    }

    /// Numbers of the group keys by canonical text.
    private var keys: [[UInt8]: Int] = [:]
    private(set) var columns: [Column] = []
    /// The name of the first occurrence, for each interpolated value that repeats an earlier one.
    private let firstNames: [String: String]

    /// Creates a scope with the expressions of GROUP BY.
    init(
        _ expressions: [Expression], _ scope: Scope, _ arguments: ArgumentValues
    ) throws(StoreError) {
        firstNames = expressions.isEmpty ? [:] : Self.firstNames(of: arguments)
        for (index, expression) in expressions.enumerated() {
            keys[try identity(of: expression, scope)] = index
        }
    }

    /// Returns the number of the group key that equals `expression`, or nil.
    func key(of expression: Expression, _ scope: Scope) throws(StoreError) -> Int? {
        guard !keys.isEmpty else { return nil }
        if case .literal = expression.node { return nil }
        return keys[try identity(of: expression, scope)]
    }

    mutating func add(_ column: Column) -> Int {
        columns.append(column)
        return columns.count - 1
    }

    /// Returns a canonical form, the same for paths with and without their source.
    private func identity(
        of expression: Expression, _ scope: Scope
    ) throws(StoreError) -> [UInt8] {
        let text = try text(of: expression, scope)
        return Array(text.utf8)
    }

    private func text(of expression: Expression, _ scope: Scope) throws(StoreError) -> String {
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

    /// Maps equal interpolated values to one name, so that equal expressions stay equal.
    private static func firstNames(of arguments: ArgumentValues) -> [String: String] {
        var names: [String: String] = [:]
        var firsts: [Value: [(value: Value, name: String)]] = [:]
        var number = 1
        while let value = arguments["$\(number)"] {
            let name = "$\(number)"
            // Equal values may differ in their representation, such as 1 and 1.0.
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
