import SheafDocument

/// Plans for later runs of a statement with other arguments.
extension SelectPlanner {
    /// Returns a plan without argument values; nil if arguments change more than a run can bind.
    ///
    /// `plan` must be the plan of the statement as it is written.
    func genericPlan(from plan: SelectPlan) throws(StoreError) -> GenericPlan? {
        guard var accessPlanner = plannedAccess, !compiler.readsClock, !needsCompleteRows,
            select.source.ids == nil,
            plan.sources.allSatisfy({ $0.collection != nil && $0.past == nil }),
            !plan.sources[0].path.isSkipScan, !hasOtherParameters,
            !plan.joins.contains(where: \.isHashed)
        else { return nil }
        guard plan.sources[0].path.access.isByKeys, let (limit, offset) = limitOperands() else {
            return nil
        }
        // These closures would retain the store of this run.
        accessPlanner.count = { _ in 0 }
        accessPlanner.firstKey = nil
        var terms: [TermTemplate] = []
        var filters: [FilterTemplate] = []
        var residual: [Expression] = []
        let reader = ConditionReader(compiler: compiler, source: 0)
        let filterCompiler = FilterCompiler(compiler: compiler, source: 0)
        let condition = environment.condition(of: select)
        for term in condition?.conjuncts ?? [] {
            if let (subject, operands) = term.choices, let path = try reader.path(of: subject) {
                terms.append(.membership(path, operands))
                residual.append(term)
                continue
            }
            guard let (subject, comparisons) = term.comparisons,
                let path = try reader.path(of: subject)
            else {
                // The path of the first run may depend on `.other`, so it has no `KeyTemplate`.
                let isFixed = !term.hasParameter
                let known = try reader.read(term)
                terms.append(isFixed || known.isAnything ? .fixed(known) : .other)
                if isFixed, let filter = try filterCompiler.filter(term) {
                    filters.append(.fixed(filter))
                } else {
                    residual.append(term)
                }
                continue
            }
            terms += comparisons.map { .comparison(path, $0.operation, $0.operand) }
            if let path = try filterCompiler.path(of: subject) {
                filters += comparisons.map { .comparison(path, $0.operation, $0.operand) }
            } else {
                residual.append(term)
            }
        }
        if plan.sources[0].path.access.isCovering {
            (filters, residual) = ([], condition?.conjuncts ?? [])
        }
        let conditions = try conditions(of: plan, filters, residual)
        return GenericPlan(
            plan, accessPlanner, terms, conditions, compiler.scope, compiler.lateParameters,
            limit: limit, offset: offset, isLimited: accessPlanner.limit != nil,
            canSwapSources: canSwapSources)
    }

    /// Returns the conditions that a run evaluates; nil if they do not depend on arguments.
    private func conditions(
        of plan: SelectPlan, _ filters: [FilterTemplate], _ rest: [Expression]
    ) throws(StoreError) -> ConditionTemplate? {
        // A condition that was always true with these arguments has an expression, but no
        // predicate.
        let hasConditions =
            plan.requested.filterExpression != nil || plan.requested.residualExpression != nil
        guard hasConditions, environment.condition(of: select)?.hasParameter == true else {
            return nil
        }
        return ConditionTemplate(
            filters: filters, rest: rest,
            stages: try lateStages(of: rest, joinCount: plan.joins.count))
    }

    /// Returns predicates that read all parameters from the run; nil if that is impossible.
    ///
    /// Terms that may fail are not evaluated if constants decide the condition.
    private func lateStages(
        of terms: [Expression], joinCount: Int
    ) throws(StoreError) -> [Predicate?]? {
        guard terms.allSatisfy({ !$0.hasPlannedParameter && $0.neverFails }) else { return nil }
        compiler.bindsLate = true
        defer { compiler.bindsLate = false }
        return try compiler.stages(of: terms, joinCount: joinCount)
    }

    /// Whether a parameter occurs where a later run cannot bind it.
    private var hasOtherParameters: Bool {
        if written.joins.contains(where: \.condition.hasPlannedParameter) { return true }
        var expressions = written.groups + select.groups
        for select in [written, select] {
            expressions += [select.having].compactMap { $0 }
            expressions += select.columns.compactMap(\.expression)
            expressions += select.ordering.terms.map(\.expression)
        }
        return expressions.contains(where: \.hasParameter)
            || written.joins.contains { $0.source.ids != nil }
    }

    /// Returns the operands of LIMIT and OFFSET; nil if one is another expression.
    private func limitOperands() -> (limit: Operand?, offset: Operand?)? {
        let (limit, offset) = (select.ordering.limit, select.ordering.offset)
        let count = limit.flatMap { Operand($0) }
        let skipped = offset.flatMap { Operand($0) }
        guard (limit == nil) == (count == nil), (offset == nil) == (skipped == nil) else {
            return nil
        }
        return (count, skipped)
    }
}

extension Expression {
    /// Whether a parameter occurs in the expression.
    var hasParameter: Bool {
        if case .parameter = node { return true }
        var isFound = false
        try? forEachChild { (child) throws(StoreError) in
            isFound = isFound || child.hasParameter
        }
        return isFound
    }

    /// The subject and the operands of an IN with a list of them; nil for other expressions.
    fileprivate var choices: (subject: Expression, [Operand])? {
        guard case .membership(let subject, let list, isNegated: false) = node,
            case .array(let elements) = list.node
        else { return nil }
        let operands = elements.compactMap { Operand(composing: $0) }
        return operands.isEmpty || operands.count < elements.count ? nil : (subject, operands)
    }

    /// The comparisons of an expression with operands; nil for other expressions.
    fileprivate var comparisons:
        (subject: Expression, [(operation: ComparisonOperator, operand: Operand)])?
    {
        switch node {
        case .comparison(let operation, let left, let right):
            if let operand = Operand(composing: right) { return (left, [(operation, operand)]) }
            return Operand(composing: left).map { (right, [(operation.turned, $0)]) }
        case .between(let subject, let low, let high, isNegated: false):
            guard let low = Operand(composing: low), let high = Operand(composing: high) else {
                return nil
            }
            return (subject, [(.greaterOrEqual, low), (.lessOrEqual, high)])
        default: return nil
        }
    }
}

extension Access {
    /// Whether the access is a lookup or a scan of keys, and no combination.
    fileprivate var isByKeys: Bool {
        switch self {
        case .ids, .documents, .index: true
        default: false
        }
    }
}

extension JoinPlan {
    fileprivate var isHashed: Bool {
        if case .hash = lookup { true } else { false }
    }
}
