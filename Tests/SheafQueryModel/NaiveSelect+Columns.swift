import SheafDocument
import SheafQuery

/// Column names: validation, and their resolution in GROUP BY, HAVING and ORDER BY.
extension NaiveSelect {
    /// Returns the name of a column.
    static func name(of expression: Expression, _ alias: Name?, number: Int) -> String {
        if let alias { return alias.text }
        if case .path(let path) = expression.node, let last = path.last { return last }
        return "($\(number))"
    }

    /// Returns the value of a column; the name of the only collection yields the document.
    func columnValue(_ expression: Expression) throws(StoreError) -> Value? {
        if let value = try evaluator.value(expression) { return value }
        guard evaluator.group == nil, evaluator.members.count == 1,
            !evaluator.members[0].hasAlias, case .path(let path) = expression.node,
            path == [evaluator.members[0].name]
        else { return nil }
        return evaluator.rows[0].map(Value.object)
    }

    /// Refuses columns that hide others, and resolves column names and numbers to expressions.
    mutating func replaceColumnNames() throws(StoreError) {
        try refuseEqualNames()
        order = []
        for term in select.ordering.terms {
            if case .literal(.integer(let number)) = term.expression.node {
                guard number > 0, number <= select.columns.count,
                    case .expression(let column, _) = select.columns[Int(number) - 1]
                else { throw StoreError(.meaning, "no column") }
                order.append((column, true))
            } else if let column = column(named: term.expression) {
                order.append((column, true))
            } else {
                guard Self.readsRows(term.expression) else {
                    throw StoreError(.meaning, "constant")
                }
                order.append((term.expression, false))
            }
        }
        let keys = select.groups.filter { !isAmbiguous($0) }
        for (index, group) in select.groups.enumerated() {
            guard let column = column(named: group), !Self.hasAggregate(column),
                isAmbiguous(group) || !isKnown(column, keys, bound: [])
            else { continue }
            select.groups[index] = column
        }
        evaluator.columns = [:]
        for case .expression(let column, let alias?) in select.columns
        where evaluator.columns[alias.text] == nil {
            evaluator.columns[alias.text] = column
        }
    }

    private func refuseEqualNames() throws(StoreError) {
        var names: Set<String> = []
        var star: String?
        for case .all(let qualifier?, _) in select.columns {
            guard star == nil else { throw StoreError(.meaning, "two stars") }
            star = qualifier.text
        }
        for (number, column) in select.columns.enumerated() {
            guard case .expression(let expression, let alias) = column else { continue }
            guard names.insert(Self.name(of: expression, alias, number: number + 1)).inserted
            else { throw StoreError(.meaning, "two columns of one name") }
            guard let star, alias == nil, case .path(let path) = expression.node else { continue }
            guard case .field(let source, let names) = evaluator.target(of: path),
                names.count == 1, evaluator.members[source].name == star
            else { throw StoreError(.meaning, "a field of * is hidden") }
        }
    }

    private func column(named expression: Expression) -> Expression? {
        guard case .path(let path) = expression.node, path.count == 1 else { return nil }
        for case .expression(let column, let alias?) in select.columns where alias.text == path[0] {
            return column
        }
        return nil
    }

    /// Whether a name could be a field of several sources.
    private func isAmbiguous(_ expression: Expression) -> Bool {
        guard evaluator.members.count > 1, case .path(let path) = expression.node else {
            return false
        }
        return !evaluator.members.contains { $0.name == path[0] }
    }

    /// Whether an expression reads only keys, aggregates and variables that it binds.
    private func isKnown(_ expression: Expression, _ keys: [Expression], bound: [String]) -> Bool {
        if keys.contains(where: { evaluator.isSame($0, expression) }) { return true }
        var bound = bound
        switch expression.node {
        case .path(let path): return bound.contains(path[0])
        case .call(let call) where AggregateKind(rawValue: call.name) != nil: return true
        case .quantified(let quantified): bound += quantified.bindings.map(\.variable)
        case .comprehension(let comprehension): bound += comprehension.bindings.map(\.variable)
        default: break
        }
        var isKnown = true
        try? expression.forEachChild { (child) throws(StoreError) in
            isKnown = isKnown && self.isKnown(child, keys, bound: bound)
        }
        return isKnown
    }

    private static func hasAggregate(_ expression: Expression) -> Bool {
        if case .call(let call) = expression.node, AggregateKind(rawValue: call.name) != nil {
            return true
        }
        var isFound = false
        try? expression.forEachChild { (child) throws(StoreError) in
            isFound = isFound || hasAggregate(child)
        }
        return isFound
    }

    /// Whether an expression reads the row or an aggregate.
    static func readsRows(_ expression: Expression, bound: [String] = []) -> Bool {
        var bound = bound
        switch expression.node {
        case .path(let path): return !bound.contains(path[0])
        case .call(let call) where AggregateKind(rawValue: call.name) != nil: return true
        case .quantified(let quantified): bound += quantified.bindings.map(\.variable)
        case .comprehension(let comprehension): bound += comprehension.bindings.map(\.variable)
        default: break
        }
        var isFound = false
        try? expression.forEachChild { (child) throws(StoreError) in
            isFound = isFound || readsRows(child, bound: bound)
        }
        return isFound
    }
}
