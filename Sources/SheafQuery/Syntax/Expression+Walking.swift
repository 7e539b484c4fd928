/// What stands in an expression.
extension Expression {
    /// The expressions right below this one.
    var children: [Expression] {
        switch node {
        case .literal, .missing, .parameter, .path: []
        case .array(let elements), .and(let elements), .or(let elements): elements
        case .object(let fields): fields.map(\.value)
        case .negate(let operand), .not(let operand), .test(_, let operand, _),
            .cast(let operand, _):
            [operand]
        case .arithmetic(let first, let steps): [first] + steps.map(\.operand)
        case .comparison(_, let left, let right): [left, right]
        case .between(let operand, let low, let high, _): [operand, low, high]
        case .membership(let operand, let list, _): [operand, list]
        case .pattern(let pattern):
            [pattern.subject, pattern.pattern] + (pattern.escape.map { [$0] } ?? [])
        case .conditional(let conditional):
            (conditional.subject.map { [$0] } ?? [])
                + conditional.branches.flatMap { [$0.when, $0.then] }
                + (conditional.otherwise.map { [$0] } ?? [])
        case .call(let call): call.arguments
        case .quantified(let quantified):
            quantified.bindings.map(\.source) + [quantified.condition]
        case .comprehension(let comprehension):
            comprehension.bindings.map(\.source)
                + [comprehension.key, comprehension.element, comprehension.condition]
                .compactMap { $0 }
        }
    }

    /// The names that this binds for what is below it.
    private var boundNames: [String] {
        switch node {
        case .quantified(let quantified): quantified.bindings.map(\.variable)
        case .comprehension(let comprehension): comprehension.bindings.map(\.variable)
        default: []
        }
    }

    /// Whether an aggregate stands anywhere in it.
    var hasAggregate: Bool {
        if case .call(let call) = node, AggregateKind(rawValue: call.name) != nil {
            return true
        }
        return children.contains(where: \.hasAggregate)
    }

    /// Visits all paths but those that begin with a variable.
    func forEachPath(
        bound: Set<String> = [],
        _ body: ([String], SourceRange) throws(QueryError) -> Void
    ) throws(QueryError) {
        if case .path(let path) = node {
            if let first = path.first, !bound.contains(first) { try body(path, range) }
            return
        }
        // What a variable runs through is in sight of itself, which only makes it miss a path
        // that a plan could have used.
        let bound = bound.union(boundNames)
        for child in children { try child.forEachPath(bound: bound, body) }
    }
}
