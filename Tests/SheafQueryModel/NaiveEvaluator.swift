import SheafDocument
import SheafQuery

/// An interpreter that evaluates expression trees anew for each row.
///
/// It has no plans, no indexes and no encoded documents.
struct NaiveEvaluator {
    /// A source and the name by which paths refer to it.
    struct Member {
        let name: String
        let hasAlias: Bool
    }

    /// The target of a path: a variable or source by its index, and the remaining path.
    enum Target: Equatable {
        case variable(Int, [String])
        case field(Int, [String])
    }

    /// The rows of a group and their common keys.
    struct Group {
        var keys: [(expression: Expression, value: Value?)]
        var rows: [[Object?]]
    }

    let members: [Member]
    let arguments: [String: Value]
    let context: FunctionContext
    /// The row of each source; nil on the empty side of an outer join.
    var rows: [Object?] = []
    var variables: [(name: String, value: Value?)] = []
    var group: Group?
    /// The columns by alias, for names in a grouped statement that are not keys.
    var columns: [String: Expression] = [:]

    init(_ sources: [Source], _ arguments: [String: Value], _ context: FunctionContext) {
        members = sources.map {
            Member(name: ($0.alias ?? $0.name).text, hasAlias: $0.alias != nil)
        }
        self.arguments = arguments
        self.context = context
        rows = Array(repeating: nil, count: members.count)
    }

    /// Returns the truth of a condition for the current row.
    func truth(_ expression: Expression) throws(StoreError) -> Truth {
        Truth(try value(expression))
    }

    /// Returns the value of an expression; nil is MISSING.
    func value(_ expression: Expression) throws(StoreError) -> Value? {
        if let known = groupKey(expression) { return known }
        switch expression.node {
        case .literal(let value): return value
        case .missing: return nil
        case .parameter(let name): return arguments[name]
        case .path(let path):
            guard group != nil, variables.isEmpty, path.count == 1, let column = columns[path[0]]
            else { return value(at: path) }
            var inner = self
            inner.columns = [:]
            return try inner.value(column)
        case .array(let elements):
            var values: [Value] = []
            for element in elements { if let value = try value(element) { values.append(value) } }
            return .array(values)
        case .object(let fields):
            var object = Object()
            for field in fields where try value(field.value) != nil {
                object[field.name] = try value(field.value)
            }
            return .object(object)
        case .negate(let operand): return Operators.negate(try value(operand))
        case .arithmetic(let first, let steps):
            var result = try value(first)
            for step in steps {
                result = try Operators.arithmetic(step.operation, result, try value(step.operand))
            }
            return result
        case .conditional(let conditional): return try value(conditional)
        case .call(let call): return try value(call)
        case .cast(let operand, let type): return Operators.cast(try value(operand), to: type)
        case .quantified(let quantified): return try value(quantified)
        case .comprehension(let comprehension): return try value(comprehension)
        case .not, .and, .or, .xor, .comparison, .between, .membership, .pattern, .test:
            return try answer(expression).value
        }
    }

    // MARK: Paths

    /// Resolves a path to the innermost variable, a source, or a field of the only source.
    func target(of path: [String]) -> Target {
        if let index = variables.lastIndex(where: { $0.name == path[0] }) {
            return .variable(index, Array(path.dropFirst()))
        }
        if let index = members.firstIndex(where: { $0.name == path[0] }),
            path.count > 1 || members[index].hasAlias || members.count > 1
        {
            return .field(index, Array(path.dropFirst()))
        }
        return .field(0, path)
    }

    private func value(at path: [String]) -> Value? {
        var value: Value?
        let rest: [String]
        switch target(of: path) {
        case .variable(let index, let names): (value, rest) = (variables[index].value, names)
        case .field(let index, let names): (value, rest) = (rows[index].map(Value.object), names)
        }
        for name in rest {
            guard case .object(let object)? = value else { return nil }
            value = object[name]
        }
        return value
    }

    // MARK: Groups

    private func groupKey(_ expression: Expression) -> Value?? {
        guard let group else { return nil }
        for key in group.keys where isSame(key.expression, expression) { return .some(key.value) }
        return nil
    }

    /// Whether an expression is the given key of GROUP BY.
    func isSame(_ key: Expression, _ expression: Expression) -> Bool {
        switch (key.node, expression.node) {
        case (.path(let left), .path(let right)): target(of: left) == target(of: right)
        case (_, .literal), (_, .path), (.path, _): false
        default: key.description == expression.description
        }
    }

    // MARK: Choices and functions

    private func value(_ conditional: Conditional) throws(StoreError) -> Value? {
        let subject = try conditional.subject.map { (subject) throws(StoreError) in
            try value(subject)
        }
        for branch in conditional.branches {
            let when = try value(branch.when)
            let isTaken =
                if let subject {
                    Operators.compare(.equal, subject, when) == .yes
                } else { when == .bool(true) }
            if isTaken { return try value(branch.then) }
        }
        guard let otherwise = conditional.otherwise else { return .null }
        return try value(otherwise)
    }

    private func value(_ call: Call) throws(StoreError) -> Value? {
        if let kind = AggregateKind(rawValue: call.name) { return try aggregate(kind, call) }
        guard let function = Functions.named(call.name),
            function.argumentCount.contains(call.arguments.count)
        else { throw StoreError(.meaning, "\(call.name) is not a function") }
        var values: [Value?] = []
        for argument in call.arguments { values.append(try value(argument)) }
        return try function.evaluate(values, context)
    }

    private func aggregate(_ kind: AggregateKind, _ call: Call) throws(StoreError) -> Value? {
        guard let group else { throw StoreError(.meaning, "\(call.name) without a group") }
        if call.isStar { return .integer(Int64(group.rows.count)) }
        var values: [Value] = []
        var inner = self
        inner.group = nil
        for row in group.rows {
            inner.rows = row
            if let value = try inner.value(call.arguments[0]) { values.append(value) }
        }
        return NaiveAggregate.result(kind, values, isDistinct: call.isDistinct)
    }
}
