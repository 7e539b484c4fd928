package import SheafDocument

/// Traversal of expression trees.
extension Expression {
    /// Visits the direct subexpressions.
    package func forEachChild(
        _ body: (Expression) throws(StoreError) -> Void
    ) throws(StoreError) {
        switch node {
        case .literal, .missing, .parameter, .path: break
        case .array(let elements), .and(let elements), .or(let elements), .xor(let elements):
            for element in elements { try body(element) }
        case .object(let fields): for field in fields { try body(field.value) }
        case .negate(let operand), .not(let operand), .test(_, let operand, _),
            .cast(let operand, _):
            try body(operand)
        case .arithmetic(let first, let steps):
            try body(first)
            for step in steps { try body(step.operand) }
        case .comparison(_, let left, let right), .membership(let left, let right, _):
            try body(left)
            try body(right)
        case .between(let operand, let low, let high, _):
            try body(operand)
            try body(low)
            try body(high)
        case .pattern(let pattern):
            try body(pattern.subject)
            try body(pattern.pattern)
            if let escape = pattern.escape { try body(escape) }
        case .call(let call): for argument in call.arguments { try body(argument) }
        case .conditional(let conditional): try conditional.forEachChild(body)
        case .quantified(let quantified):
            for binding in quantified.bindings { try body(binding.source) }
            try body(quantified.condition)
        case .comprehension(let comprehension):
            for binding in comprehension.bindings { try body(binding.source) }
            if let key = comprehension.key { try body(key) }
            try body(comprehension.element)
            if let condition = comprehension.condition { try body(condition) }
        }
    }

    /// Whether the expression contains an aggregate.
    var hasAggregate: Bool {
        if case .call(let call) = node, AggregateKind(rawValue: call.name) != nil { return true }
        var isFound = false
        try? forEachChild { (child) throws(StoreError) in
            isFound = isFound || child.hasAggregate
        }
        return isFound
    }

    /// Visits all paths except those whose first name is a bound variable.
    package func forEachPath(
        bound: [String] = [],
        _ body: ([String], SourceRange) throws(StoreError) -> Void
    ) throws(StoreError) {
        switch node {
        case .path(let path):
            if let first = path.first, !bound.hasSpelling(first) { try body(path, range) }
        case .quantified(let quantified):
            let bound = try quantified.bindings.forEachPath(bound, body)
            try quantified.condition.forEachPath(bound: bound, body)
        case .comprehension(let comprehension):
            let bound = try comprehension.bindings.forEachPath(bound, body)
            try comprehension.key?.forEachPath(bound: bound, body)
            try comprehension.element.forEachPath(bound: bound, body)
            try comprehension.condition?.forEachPath(bound: bound, body)
        default:
            try forEachChild { (child) throws(StoreError) in
                try child.forEachPath(bound: bound, body)
            }
        }
    }
}

extension [Binding] {
    /// Visits the paths in the sources of the bindings; returns the variables in scope after them.
    fileprivate func forEachPath(
        _ outer: [String], _ body: ([String], SourceRange) throws(StoreError) -> Void
    ) throws(StoreError) -> [String] {
        var bound = outer
        for binding in self {
            // A variable is not in scope in its own source.
            try binding.source.forEachPath(bound: bound, body)
            bound.append(binding.variable)
        }
        return bound
    }
}

extension Conditional {
    fileprivate func forEachChild(
        _ body: (Expression) throws(StoreError) -> Void
    ) throws(StoreError) {
        if let subject { try body(subject) }
        for branch in branches {
            try body(branch.when)
            try body(branch.then)
        }
        if let otherwise { try body(otherwise) }
    }
}
