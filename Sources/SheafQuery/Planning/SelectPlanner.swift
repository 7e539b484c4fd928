import SheafBytes
import SheafDocument

/// A planner of SELECT statements.
final class SelectPlanner {
    /// The statement; planning replaces the column names and numbers in its clauses.
    private(set) var select: Select
    /// The statement before planning.
    let written: Select
    let environment: PlanEnvironment
    let compiler: ExpressionCompiler
    var hints = PlanHints()
    /// Notes about indexes that are named but do not exist.
    var notes: [String] = []
    /// The rows of the source, if they were computed before.
    let rows: [Object]?
    /// The planner of the access path, after planning.
    private(set) var plannedAccess: AccessPlanner?

    init(_ select: Select, _ environment: PlanEnvironment, rows: [Object]? = nil) {
        self.select = select
        written = select
        self.rows = rows
        self.environment = environment
        compiler = environment.compiler()
    }

    /// Plans the statement with its sources in their order.
    func planAsWritten() throws(StoreError) -> SelectPlan {
        hints = try environment.hints(select.source)
        try environment.checkDirectives(ofJoins: select)
        guard select.joins.count <= hints.maximumJoins else {
            throw StoreError(
                .limit, "#max_joins forbids more than \(hints.maximumJoins) joins",
                at: select.joins[hints.maximumJoins].source.name.range, in: environment.text)
        }
        try add(select.source)
        for join in select.joins { try add(join.source) }
        let isGrouped = try checkGrouping()
        let condition = try keyCondition()
        let joins = try planJoins(isGrouped: isGrouped)
        let output = try planOutput(isGrouped: isGrouped)
        let (limit, offset) = try bounds()
        // The passes of a hash join would repeat the order of its first source.
        let keepsOrder = joins.allSatisfy(\.keepsOrder)
        let wanted = keepsOrder ? try firstTerms(isGrouped: isGrouped) : nil
        var planner = try accessPlanner(order: wanted ?? [], limit: limit, offset: offset)
        planner?.isOrderComplete = wanted?.count == select.ordering.terms.count
        if isGrouped || select.isDistinct { planner?.limit = nil }
        if joins.contains(where: { $0.kind == .inner }) { planner?.documentsPerRow = 4 }
        let path = try accessPath(condition, planner, wanted)
        let sources = try sourcePlans(path)
        let plan = SelectPlan(sources: sources, joins: joins, projection: output.projection)
        plan.grouping = output.grouping
        plan.order = output.order
        plan.isOrdered =
            output.order.isEmpty
            || wanted?.count == select.ordering.terms.count && path.isOrdered && !isGrouped
        if !plan.isOrdered, limit != nil { plan.presortedTerms = path.presortedTerms }
        (plan.limit, plan.offset) = (limit, offset)
        plan.isDistinct = select.isDistinct
        // Exact ranges make the condition redundant; inexact parts are still compiled to find
        // errors.
        let isAsked =
            !path.isExact || !joins.isEmpty || sources[0].collection?.hasPendingChanges ?? true
        if isAsked || !condition.isExact {
            let filtered = try conditions(plan.sources[0].path.access)
            if isAsked { plan.requested = filtered }
        }
        plan.notes = notes
        plan.variableCount = compiler.scope.variableCount
        plan.countedRanges = plan.rangesToCount(path)
        plan.countedGroups = try groupsToCount(plan)
        plannedAccess = planner
        return plan
    }

    func add(_ source: Source) throws(StoreError) {
        try compiler.scope.add(source, isStrict: environment.isStrict)
        try environment.checkVirtual(source)
        try environment.resolvePast(source, compiler)
    }

    // MARK: Conditions

    /// Returns the conditions to evaluate for rows from an access path.
    private func conditions(_ access: Access) throws(StoreError) -> RequestedConditions {
        var filtered = RequestedConditions()
        guard let expression = environment.condition(of: select) else { return filtered }
        // Covering scans have no encoded documents to filter, and rows added by a right join have
        // no first source, so the complete condition is evaluated on rows.
        if access.isCovering || needsCompleteRows {
            filtered.residualPredicate = try compiler.conditionPredicate(expression)
            filtered.residualExpression = expression
            return filtered
        }
        let splitter = FilterCompiler(compiler: compiler, source: 0)
        let (filter, terms, rest) = try splitter.split(expression)
        filtered.filter = filter
        filtered.filterExpression = Self.conjunction(terms, of: expression)
        if !select.joins.isEmpty {
            filtered.stages = try compiler.stages(of: rest, joinCount: select.joins.count)
        }
        filtered.residualExpression = Self.conjunction(rest, of: expression)
        filtered.residualPredicate = try filtered.residualExpression.flatMap(
            compiler.conditionPredicate)
        return filtered
    }

    /// Whether rows may lack a document of the first source that a filter could read.
    var needsCompleteRows: Bool {
        select.joins.contains { $0.kind == .right } || environment.isVirtual(select.source)
    }

    /// Returns the part of the condition that keys can decide.
    private func keyCondition() throws(StoreError) -> Condition {
        guard let expression = environment.condition(of: select) else { return .always }
        guard !expression.hasAggregate else {
            throw compiler.error(
                .meaning, "aggregates are not allowed in WHERE",
                hint: "put the condition into HAVING", expression)
        }
        if needsCompleteRows { return .anything }
        return try ConditionReader(compiler: compiler, source: 0).read(expression)
    }

    /// Returns the conjunction of some terms of a condition, or nil if there are none.
    static func conjunction(
        _ terms: [Expression], of whole: Expression
    ) -> Expression? {
        terms.count > 1 ? Expression(.and(terms), at: whole.range) : terms.first
    }

    // MARK: Access

    /// Returns the range of keys of exactly the selected documents; nil if there is none.
    func orderedRange() throws(StoreError) -> OrderedRange? {
        try add(select.source)
        let planner = try accessPlanner(order: [AccessPlanner.idOrder], limit: nil, offset: 0)
        let condition = try keyCondition()
        return planner?.orderedRange(of: condition)
    }

    private func accessPlanner(
        order: [IndexDescription.Field], limit: Int?, offset: Int
    ) throws(StoreError) -> AccessPlanner? {
        guard rows == nil, let collection = environment.collection(select.source) else {
            return nil
        }
        let store = environment.store(of: select.source)
        var planner = AccessPlanner(collection: collection, count: store.count(in:))
        planner.firstKey = store.firstKey(in:)
        planner.hints = hints
        planner.order = order
        planner.limit = limit.map { QueryLimits.sum($0, offset) }
        planner.neededPaths = try mayBeCovered(by: collection.indexes) ? neededPaths() : nil
        return planner
    }

    /// Whether an index may cover the statement; a quick check that excludes most statements.
    private func mayBeCovered(by indexes: [IndexDescription]) throws(StoreError) -> Bool {
        guard !indexes.isEmpty else { return false }
        for column in select.columns {
            guard let expression = column.expression else { return false }
            guard case .path(let names) = expression.node,
                case .field(_, let path) = try compiler.scope.resolve(
                    names, at: expression.range)
            else { continue }
            let isIndexed = indexes.contains { $0.fields.contains { $0.path == path } }
            guard isIndexed else { return false }
        }
        return true
    }

    private func accessPath(
        _ condition: Condition, _ planner: AccessPlanner?, _ wanted: [IndexDescription.Field]?
    ) throws(StoreError) -> AccessPath {
        if let rows {
            return AccessPath(access: .rows(rows), count: rows.count, isExact: true)
        }
        if environment.isVirtual(select.source) { return try virtualPath(wanted) }
        guard let planner else { return .nothing }
        if let ids = select.source.ids {
            let keys = try environment.keys(of: ids, in: planner.collection, compiler)
            return AccessPath(access: .ids(keys), count: keys.count, isExact: false)
        }
        let path = planner.path(to: condition)
        notes += environment.notes(hints.indexes, planner.collection)
        return path
    }

    private func sourcePlans(_ path: AccessPath) throws(StoreError) -> [SourcePlan] {
        var plans: [SourcePlan] = []
        for (index, source) in ([select.source] + select.joins.map(\.source)).enumerated() {
            plans.append(
                SourcePlan(
                    name: source.name.text, alias: compiler.scope.members[index].name,
                    collection: environment.collection(source),
                    virtualName: environment.isVirtual(source)
                        ? environment.virtualName(source) : nil,
                    types: compiler.scope.members[index].types,
                    path: index == 0 ? path : .nothing,
                    past: source.asOf == nil ? nil : environment.store(of: source)))
        }
        return plans
    }

    /// Returns the paths of all fields that the statement reads, or nil if no index can cover it.
    func neededPaths() throws(StoreError) -> [[String]]? {
        guard select.joins.isEmpty, select.source.types.isEmpty, !environment.isStrict else {
            return nil
        }
        var expressions = select.groups
        expressions += [select.condition, select.having].compactMap { $0 }
        for column in select.columns {
            switch column {
            case .all: return nil
            case .expression(let expression, _):
                // The column may be the complete document.
                guard !compiler.scope.isBareSource(expression) else { return nil }
                expressions.append(expression)
            }
        }
        for term in select.ordering.terms where !term.isColumn {
            expressions.append(term.expression)
        }
        var paths: [[String]] = []
        var readsAll = false
        for expression in expressions {
            try expression.forEachPath { (path, range) throws(StoreError) in
                switch try compiler.scope.resolve(path, at: range) {
                case .id: paths.append([Row.idName])
                case .field(_, let path): paths.append(path)
                case .row, .variable: readsAll = true
                }
            }
        }
        return readsAll ? nil : paths
    }

    func bounds() throws(StoreError) -> (limit: Int?, offset: Int) {
        (
            try compiler.count(select.ordering.limit, for: "LIMIT"),
            try compiler.count(select.ordering.offset, for: "OFFSET") ?? 0
        )
    }

    // MARK: Output

    struct Output {
        var projection: Projection
        var grouping: GroupPlan?
        var order: [SortTerm]
    }

    /// Whether rows are grouped; replaces column names and throws for invalid groupings.
    func checkGrouping() throws(StoreError) -> Bool {
        select = try withoutColumnNames(select)
        let isGrouped =
            !select.groups.isEmpty || select.having?.hasAggregate == true
            || select.columns.contains { $0.expression?.hasAggregate == true }
            || select.ordering.terms.contains { $0.expression.hasAggregate }
        if let having = select.having, !isGrouped {
            throw compiler.error(
                .meaning, "HAVING requires GROUP BY or an aggregate",
                hint: "put the condition into WHERE", having)
        }
        guard isGrouped else { return false }
        for case .all(_, let range) in select.columns {
            throw StoreError(
                .meaning, "* is not allowed in groups: columns must be keys or aggregates",
                at: range, in: environment.text)
        }
        return true
    }

    func planOutput(isGrouped: Bool) throws(StoreError) -> Output {
        var keys: [Evaluator] = []
        var keyPaths: [ColumnPath?] = []
        if isGrouped {
            for expression in select.groups {
                keys.append(try compiler.compile(expression).evaluator)
                keyPaths.append(try compiler.columnPath(expression))
            }
            compiler.groups = try GroupScope(select.groups, compiler.scope, compiler.arguments)
        }
        let projection = try ProjectionCompiler.compile(select.columns, compiler)
        let having = try select.having.map { (having) throws(StoreError) in
            try compiler.compilePredicate(having).predicate
        }
        var order: [SortTerm] = []
        for term in select.ordering.terms {
            let expression = term.expression
            let compiled = try compiler.compile(expression)
            // Constant columns do not affect the order.
            guard !compiled.isConstant else { continue }
            let isDocument = term.isColumn && compiler.scope.isBareSource(expression)
            order.append(
                SortTerm(
                    evaluator: isDocument
                        ? try ProjectionCompiler.value(of: expression, compiler)
                        : compiled.evaluator, isDescending: term.isDescending,
                    expression: term.alias ?? expression,
                    field: isDocument ? nil : try compiler.field(expression)))
        }
        var grouping: GroupPlan?
        if let groups = compiler.groups {
            grouping = GroupPlan(
                keys: keys, keyPaths: keyPaths, columns: groups.columns, having: having,
                expressions: select.groups, havingExpression: select.having)
            compiler.groups = nil
        }
        return Output(projection: projection, grouping: grouping, order: order)
    }
}
