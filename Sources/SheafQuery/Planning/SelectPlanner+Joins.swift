import SheafBytes
import SheafDocument

/// Planning of joins.
extension SelectPlanner {
    /// Plans the joins in their order; throws if one needs an index that does not exist.
    func planJoins() throws(StoreError) -> [JoinPlan] {
        var plans: [JoinPlan] = []
        for (number, join) in select.joins.enumerated() {
            let source = number + 1
            let (lookup, rest) = try lookup(join, source)
            plans.append(
                JoinPlan(
                    kind: join.kind, source: source, lookup: lookup,
                    condition: try compiler.compilePredicate(join.condition).predicate,
                    rest: try rest.map { (rest) throws(StoreError) in
                        try compiler.compilePredicate(rest).predicate
                    }, expression: join.condition))
        }
        return plans
    }

    /// Returns the lookup of a join and, for lookups by id, the remaining condition.
    private func lookup(
        _ join: JoinClause, _ source: Int
    ) throws(StoreError) -> (JoinPlan.Lookup, rest: Expression?) {
        if environment.isVirtual(join.source) { return (.scan, nil) }
        if join.source.index?.text.isEmpty == true { return (.scan, nil) }
        guard let collection = environment.collection(join.source) else { return (.scan, nil) }
        let written = join.source.indexes.map(\.text)
        notes += environment.notes(written, collection)
        let known = collection.indexes.map(\.name)
        // Hints that name no existing index are ignored.
        let names = written.filter { known.hasSpelling($0) }
        let terms: [Expression]
        if case .and(let all) = join.condition.node {
            terms = all
        } else {
            terms = [join.condition]
        }
        var byIndex: JoinPlan.Lookup?
        for (number, term) in terms.enumerated() {
            guard case .comparison(.equal, let left, let right) = term.node else { continue }
            for (inner, outer) in [(left, right), (right, left)] {
                guard let path = try path(of: inner, in: source),
                    try depends(outer, onlyBefore: source)
                else { continue }
                if path == [Row.idName] {
                    var others = terms
                    others.remove(at: number)
                    return (
                        .id(try compiler.compile(outer).evaluator, outer),
                        Self.conjunction(others, of: join.condition)
                    )
                }
                let index = collection.indexes.first {
                    $0.fields[0].path.isSpelled(path)
                        && (names.isEmpty || names.hasSpelling($0.name))
                }
                if let index, byIndex == nil {
                    byIndex = .index(index, try compiler.compile(outer).evaluator, outer)
                }
            }
        }
        if let byIndex { return (byIndex, nil) }
        throw StoreError(
            .meaning,
            "Joining to \"\(Scope.name(of: join.source))\" disallowed without appropriate index support. "
                + "Please run ADVISE for recommendations.",
            at: join.source.name.range, in: environment.text)
    }

    /// Returns the path of a visible field of a source; nil for other expressions.
    func path(of expression: Expression, in source: Int) throws(StoreError) -> [String]? {
        guard case .path(let path) = expression.node else { return nil }
        switch try compiler.scope.resolve(path, at: expression.range) {
        case .id(source, let rest): return [Row.idName] + rest
        case .field(source, let path):
            let types = compiler.scope.members[source].types
            return types.isShown(path) ? path : nil
        default: return nil
        }
    }

    /// Whether an expression reads only sources before `source`.
    func depends(
        _ expression: Expression, onlyBefore source: Int
    ) throws(StoreError) -> Bool {
        var isBefore = true
        try expression.forEachPath { (path, range) throws(StoreError) in
            switch try compiler.scope.resolve(path, at: range) {
            case .row(let other), .id(let other, _), .field(let other, _):
                if other >= source { isBefore = false }
            case .variable: break
            }
        }
        return isBefore
    }
}
