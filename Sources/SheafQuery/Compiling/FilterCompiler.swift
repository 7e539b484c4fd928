import SheafBytes
import SheafDocument

/// A compiler of simple conditions into filters on encoded documents.
struct FilterCompiler {
    let compiler: ExpressionCompiler
    let source: Int

    /// Splits a condition into a filter, the terms it covers, and the remaining terms.
    func split(
        _ condition: Expression
    ) throws(StoreError) -> (filter: FieldFilter?, asked: [Expression], rest: [Expression]) {
        let terms: [Expression]
        if case .and(let all) = condition.node { terms = all } else { terms = [condition] }
        var filters: [FieldFilter] = []
        var filtered: [Expression] = []
        var rest: [Expression] = []
        for term in terms {
            guard let filter = try filter(term) else {
                rest.append(term)
                continue
            }
            filters.append(filter)
            filtered.append(term)
        }
        guard let first = filters.first else { return (nil, [], rest) }
        return (filters.count == 1 ? first : .all(filters), filtered, rest)
    }

    /// Returns the filter for a condition, or nil if the condition needs a row context.
    func filter(_ expression: Expression) throws(StoreError) -> FieldFilter? {
        switch expression.node {
        case .and(let terms): return try filters(terms).map(FieldFilter.all)
        case .or(let terms): return try filters(terms).map(FieldFilter.any)
        case .not(let operand): return try filter(operand)?.negated
        case .comparison(let operation, let left, let right):
            if let path = try path(of: left), let value = try value(right) {
                return .compare(path, operation.outcomes, value, compiler.names)
            }
            if let path = try path(of: right), let value = try value(left) {
                return .compare(path, operation.turned.outcomes, value, compiler.names)
            }
            return nil
        case .between(let operand, let low, let high, let isNegated):
            guard let path = try path(of: operand), let low = try value(low),
                let high = try value(high)
            else { return nil }
            let filter = FieldFilter.all([
                .compare(path, [.greater, .equal], low, compiler.names),
                .compare(path, [.less, .equal], high, compiler.names),
            ])
            return isNegated ? filter.negated : filter
        case .test(let test, let operand, let isNegated):
            guard let path = try path(of: operand) else { return nil }
            return .ofType(path, compiler.names) { value in
                Operators.test(test, value) != isNegated ? .yes : .no
            }
        case .call(let call) where call.name == "starts_with" && call.arguments.count == 2:
            guard let path = try path(of: call.arguments[0]),
                case .string(let prefix)? = try value(call.arguments[1])
            else { return nil }
            return .hasPrefix(path, Array(prefix.utf8), compiler.names)
        case .path:
            guard let path = try path(of: expression) else { return nil }
            return .compare(path, .equal, .bool(true), compiler.names)
        default: return nil
        }
    }

    private func filters(
        _ expressions: [Expression]
    ) throws(StoreError) -> [FieldFilter]? {
        var filters: [FieldFilter] = []
        for expression in expressions {
            guard let filter = try filter(expression) else { return nil }
            filters.append(filter)
        }
        return filters
    }

    func path(of expression: Expression) throws(StoreError) -> FieldPath? {
        guard case .path(let names) = expression.node,
            case .field(source, let path) = try compiler.scope.resolve(
                names, at: expression.range)
        else { return nil }
        let types = compiler.scope.members[source].types
        // A map with declared fields may hide some of its fields, but a filter reads all of them.
        return types.typesOfMap(at: path) == nil ? types.path(path, in: compiler.names) : nil
    }

    /// Returns the value of a constant that is neither null nor missing.
    private func value(_ expression: Expression) throws(StoreError) -> Value? {
        guard case .constant(let value?) = try compiler.compile(expression), value != .null else {
            return nil
        }
        return value
    }
}

extension ComparisonOperator {
    var outcomes: FieldFilter.Outcomes {
        switch self {
        case .equal: .equal
        case .notEqual: [.less, .greater]
        case .less: .less
        case .lessOrEqual: [.less, .equal]
        case .greater: .greater
        case .greaterOrEqual: [.greater, .equal]
        }
    }
}
