import SheafBytes
import SheafDocument

/// Planning of joins.
extension SelectPlanner {
    /// Plans the joins in their order; throws if one needs an index that does not exist.
    func planJoins(isGrouped: Bool) throws(StoreError) -> [JoinPlan] {
        compiler.bindsLate = true
        defer { compiler.bindsLate = false }
        var plans: [JoinPlan] = []
        for (number, join) in select.joins.enumerated() {
            let source = number + 1
            let (lookup, rest) = try lookup(join, source)
            var matches = matches(of: join, source, isGrouped: isGrouped)
            if matches == .all, isGrouped, rest == nil, case .index(let lookup) = lookup,
                lookup.isCovering, lookup.isExact, countsOnly(join, source)
            {
                matches = .counted
            }
            plans.append(
                JoinPlan(
                    kind: join.kind, source: source, lookup: lookup, matches: matches,
                    condition: try compiler.compilePredicate(join.condition).predicate,
                    rest: try rest.map { (rest) throws(StoreError) in
                        try compiler.compilePredicate(rest).predicate
                    }, expression: join.condition, idField: try idField(lookup)))
        }
        return plans
    }

    /// Returns the field of the first source by whose value a lookup finds an id, if it is one.
    private func idField(_ lookup: JoinPlan.Lookup) throws(StoreError) -> FieldPath? {
        guard case .id(_, let expression) = lookup else { return nil }
        return try compiler.field(expression)
    }

    /// Returns the lookup of a join, and the rest of the condition if compared values are equal.
    private func lookup(
        _ join: JoinClause, _ source: Int
    ) throws(StoreError) -> (JoinPlan.Lookup, rest: Expression?) {
        if environment.isVirtual(join.source) { return (.scan, nil) }
        guard let collection = environment.collection(join.source) else { return (.scan, nil) }
        let written = join.source.indexes.map(\.text).filter { !$0.isEmpty }
        notes += environment.notes(written, collection)
        let equalities =
            try equalities(of: join, source) + requestedEqualities(of: join, source)
        // An empty name allows a scan and excludes all indexes.
        if join.source.index?.text.isEmpty == true {
            return try hash(join, source, collection, equalities) ?? (.scan, nil)
        }
        if let found = equalities.first(where: { $0.path == [Row.idName] }) {
            return (
                .id(try compiler.compile(operand: found.outer).evaluator, found.outer),
                rest(of: join.condition, without: [found])
            )
        }
        let isByRow = equalities.contains { !$0.isConstant }
        if let (index, used) = index(of: collection, written, equalities),
            !isByRow || used.contains(where: { !$0.isConstant })
        {
            var values: [Evaluator] = []
            for equality in used {
                values.append(try compiler.compile(operand: equality.outer).evaluator)
            }
            let lookup = IndexLookup(
                index: index, values: values, expressions: used.map(\.outer),
                isExact: index.isRegular && !collection.hasPendingChanges,
                isCovering: covers(index, collection, source))
            return (.index(lookup), rest(of: join.condition, without: used))
        }
        if let found = try hash(join, source, collection, equalities) { return found }
        throw StoreError(
            .meaning,
            "Joining to \"\(Scope.name(of: join.source))\" disallowed without appropriate index support. "
                + "Please run ADVISE for recommendations.",
            at: join.source.name.range, in: environment.text)
    }

    /// Returns the terms that compare the source of a join with preceding rows.
    func equalities(
        of join: JoinClause, _ source: Int
    ) throws(StoreError) -> [JoinEquality] {
        try equalities(join.condition.conjuncts.enumerated().map { ($0, $1) }, source)
    }

    /// Returns the terms of WHERE that compare the source of an inner join with preceding rows.
    ///
    /// Rows without them are in no result, so a lookup need not find them.
    private func requestedEqualities(
        of join: JoinClause, _ source: Int
    ) throws(StoreError) -> [JoinEquality] {
        guard join.kind == .inner, !select.joins.contains(where: { $0.kind == .right }),
            let condition = environment.condition(of: select)
        else { return [] }
        // A later run binds parameters only if they are operands.
        let terms = condition.conjuncts.filter { !$0.hasPlannedParameter }
        return try equalities(terms.map { (nil, $0) }, source)
    }

    private func equalities(
        _ terms: [(number: Int?, expression: Expression)], _ source: Int
    ) throws(StoreError) -> [JoinEquality] {
        var found: [JoinEquality] = []
        for (number, term) in terms {
            guard case .comparison(.equal, let left, let right) = term.node else { continue }
            for (inner, outer) in [(left, right), (right, left)] {
                guard try depends(inner, onlyOn: source), try depends(outer, onlyBefore: source)
                else { continue }
                found.append(
                    JoinEquality(
                        term: number, expression: term, inner: inner,
                        path: try path(of: inner, in: source),
                        outer: outer, isConstant: try depends(outer, onlyBefore: 0)))
            }
        }
        return found
    }

    /// Returns the conjunction of the other terms of a condition; true without any.
    private func rest(of condition: Expression, without used: [JoinEquality]) -> Expression? {
        let terms = condition.conjuncts.enumerated().filter { term in
            !used.contains { $0.term == term.offset }
        }
        return Self.conjunction(terms.map(\.element), of: condition)
    }

    /// Returns the index that finds the fewest entries, with the equalities of its first fields.
    ///
    /// Names in USE INDEX that the collection does not have are ignored.
    private func index(
        of collection: CollectionDescription, _ written: [String], _ equalities: [JoinEquality]
    ) -> (IndexDescription, [JoinEquality])? {
        let known = collection.indexes.map(\.name)
        let names = written.filter { known.hasSpelling($0) }
        // Values of rows are as different as the rows are; a constant may select most entries.
        let ordered = equalities.filter { !$0.isConstant } + equalities.filter(\.isConstant)
        var best: (index: IndexDescription, used: [JoinEquality])?
        func rank(_ used: [JoinEquality]) -> Int {
            used.count { !$0.isConstant } * (QueryLimits.maximumIndexFields + 1) + used.count
        }
        for index in collection.indexes where names.isEmpty || names.hasSpelling(index.name) {
            var used: [JoinEquality] = []
            for field in index.fields {
                guard
                    let equality = ordered.first(where: {
                        $0.path?.isSpelled(field.path) == true
                    })
                else { break }
                used.append(equality)
            }
            guard !used.isEmpty, rank(used) > rank(best?.used ?? []) else { continue }
            best = (index, used)
        }
        return best
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

    /// Returns the lookup in a hash table by all equalities; nil if there are none.
    private func hash(
        _ join: JoinClause, _ source: Int, _ collection: CollectionDescription,
        _ equalities: [JoinEquality]
    ) throws(StoreError) -> (JoinPlan.Lookup, rest: Expression?)? {
        guard !equalities.isEmpty else { return nil }
        // The hash table is built from these values, so they must be constants of the plan.
        compiler.bindsLate = false
        defer { compiler.bindsLate = true }
        let isByRow = equalities.contains { !$0.isConstant }
        let used = equalities.filter { !isByRow || !$0.isConstant }
        var (inner, outer): ([Evaluator], [Evaluator]) = ([], [])
        for equality in used {
            inner.append(try compiler.compile(equality.inner).evaluator)
            outer.append(try compiler.compile(equality.outer).evaluator)
        }
        var hints = PlanHints()
        hints.disablesIndexes = join.source.index?.text.isEmpty == true
        var planner = AccessPlanner(
            collection: collection, count: environment.store(of: join.source).count(in:))
        planner.hints = hints
        let known = conditionKnown(by: join)
        let condition = try ConditionReader(compiler: compiler, source: source).read(known)
        let (filter, terms, _) = try FilterCompiler(compiler: compiler, source: source)
            .split(known)
        let path = planner.path(to: condition)
        let lookup = HashLookup(
            inner: inner, outer: outer,
            expressions: used.map(\.expression),
            access: path.access, count: path.count, filter: filter,
            filterExpression: Self.conjunction(terms, of: known))
        return (.hash(lookup), rest(of: join.condition, without: used))
    }

    /// Returns the condition that each row of the result with a match of a join satisfies.
    private func conditionKnown(by join: JoinClause) -> Expression {
        guard join.kind == .inner, !select.joins.contains(where: { $0.kind == .right }),
            let condition = environment.condition(of: select)
        else { return join.condition }
        return Expression(
            .and(join.condition.conjuncts + condition.conjuncts), at: join.condition.range)
    }

    /// Whether an expression reads one source, and no other one.
    private func depends(
        _ expression: Expression, onlyOn source: Int
    ) throws(StoreError) -> Bool {
        var (reads, isOnly) = (false, true)
        try expression.forEachPath { (path, range) throws(StoreError) in
            switch try compiler.scope.resolve(path, at: range) {
            case .row(source), .id(source, _), .field(source, _): reads = true
            case .row, .id, .field: isOnly = false
            case .variable: break
            }
        }
        return reads && isOnly
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

extension Expression {
    /// Whether a plan must have the value of a parameter, which is neither an operand of a
    /// comparison nor a bound of BETWEEN.
    var hasPlannedParameter: Bool {
        switch node {
        case .parameter: return true
        case .comparison(_, let left, let right):
            return left.hasPlannedPart || right.hasPlannedPart
        case .between(let subject, let low, let high, _):
            return subject.hasPlannedParameter || low.hasPlannedPart || high.hasPlannedPart
        default:
            var isFound = false
            try? forEachChild { (child) throws(StoreError) in
                isFound = isFound || child.hasPlannedParameter
            }
            return isFound
        }
    }

    /// Whether a plan must have the value of a parameter in this operand of a comparison.
    private var hasPlannedPart: Bool {
        switch node {
        case .parameter: false
        case .object(let fields): fields.contains { $0.value.hasPlannedPart }
        default: hasPlannedParameter
        }
    }

    /// The terms of an AND, or the expression itself.
    var conjuncts: [Expression] {
        if case .and(let terms) = node { terms } else { [self] }
    }
}
