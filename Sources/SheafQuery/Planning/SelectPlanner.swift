import SheafBytes
import SheafDocument

/// Makes the plan of a SELECT.
struct SelectPlanner {
    let select: Select
    let environment: PlanEnvironment
    private var compiler: ExpressionCompiler
    private var hints = PlanHints()
    /// Whether more is read of the documents than the statement says.
    var readsDocuments = false
    /// The rows of the source, where they are there already.
    private let rows: [Object]?

    init(_ select: Select, _ environment: PlanEnvironment, rows: [Object]? = nil) {
        self.select = select
        self.rows = rows
        self.environment = environment
        compiler = environment.compiler()
    }

    mutating func plan() throws(QueryError) -> SelectPlan {
        hints = try environment.hints(select.source)
        guard select.joins.count <= hints.maximumJoins else {
            throw QueryError(
                .limit,
                "\(select.joins.count) joins are more than maximumJoins, which is "
                    + "\(hints.maximumJoins)")
        }
        for source in [select.source] + select.joins.map(\.source) {
            try compiler.scope.add(source, isStrict: environment.isStrict)
        }
        let isGrouped = try checkGrouping()
        let conditions = try compileConditions()
        let joins = try planJoins()
        let output = try planOutput(isGrouped: isGrouped)
        let (limit, offset) = try bounds()
        let wanted = try wantedOrder(isGrouped: isGrouped)
        var planner = try accessPlanner(order: wanted ?? [], limit: limit, offset: offset)
        if isGrouped || select.isDistinct { planner?.limit = nil }
        let path = try accessPath(conditions.known, planner)
        let sources = try sourcePlans(path)
        let plan = SelectPlan(sources: sources, joins: joins, projection: output.projection)
        plan.grouping = output.grouping
        plan.order = output.order
        plan.isOrdered =
            output.order.isEmpty || wanted != nil && path.isOrdered && !isGrouped
        (plan.limit, plan.offset) = (limit, offset)
        plan.isDistinct = select.isDistinct
        if !path.isExact || !joins.isEmpty || sources[0].collection?.hasPendingChanges ?? true {
            plan.filter = conditions.filter
            plan.condition = conditions.rest
            plan.conditionText = select.condition?.description
        }
        if path.access.isCovering, plan.filter != nil {
            // A filter reads the fields of documents, and here there are only those of entries.
            plan.filter = nil
            plan.condition = try select.condition.flatMap { (condition) throws(QueryError) in
                try predicate(condition)
            }
        }
        plan.variableCount = compiler.scope.variableCount
        plan.countedRanges = countedRanges(of: plan, path)
        return plan
    }

    // MARK: Conditions

    private struct Conditions {
        var known = Condition.always
        var filter: FieldFilter?
        var rest: Predicate?
    }

    private mutating func compileConditions() throws(QueryError) -> Conditions {
        var conditions = Conditions()
        guard let expression = select.condition else { return conditions }
        guard !expression.hasAggregate else {
            throw compiler.error(
                .meaning, "WHERE comes before groups are made, and has no aggregates",
                hint: "put the condition into HAVING", expression)
        }
        // Rows that an outer join adds have no first source, and have to pass the whole condition.
        let hasRightJoin = select.joins.contains { $0.kind == .right }
        if hasRightJoin || environment.isVirtual(select.source) {
            conditions.known = .anything
            conditions.rest = try predicate(expression)
            return conditions
        }
        var reader = ConditionReader(compiler: compiler, source: 0)
        conditions.known = try reader.read(expression)
        var splitter = FilterCompiler(compiler: compiler, source: 0)
        let (filter, rest) = try splitter.split(expression)
        conditions.filter = filter
        if !rest.isEmpty {
            let range = expression.range
            conditions.rest = try predicate(
                rest.count == 1 ? rest[0] : Expression(.and(rest), at: range))
        }
        return conditions
    }

    private mutating func predicate(_ expression: Expression) throws(QueryError) -> Predicate? {
        switch try compiler.compilePredicate(expression) {
        case .constant(.yes): return nil
        case let compiled: return compiled.predicate
        }
    }

    // MARK: Access

    private func accessPlanner(
        order: [IndexDescription.Field], limit: Int?, offset: Int
    ) throws(QueryError) -> AccessPlanner? {
        guard rows == nil, let collection = environment.collection(select.source) else {
            return nil
        }
        let store = environment.store
        var planner = AccessPlanner(collection: collection, count: store.count(in:))
        planner.hints = hints
        planner.order = order
        planner.limit = limit.map { Self.sum($0, offset) }
        planner.neededPaths = try neededPaths()
        return planner
    }

    /// As many as both, or as many as there are numbers for.
    static func sum(_ limit: Int, _ offset: Int) -> Int {
        let (sum, overflows) = limit.addingReportingOverflow(offset)
        return overflows ? .max : sum
    }

    private mutating func accessPath(
        _ condition: Condition, _ planner: AccessPlanner?
    ) throws(QueryError) -> AccessPath {
        if let rows {
            return AccessPath(access: .rows(rows), count: rows.count, isExact: true)
        }
        if environment.isVirtual(select.source) {
            return AccessPath(
                access: .virtual(environment.virtualName(select.source)), count: 0,
                isExact: false, isOrdered: false)
        }
        guard let planner else { return .nothing }
        if let ids = select.source.ids {
            let keys = try environment.keys(of: ids, in: planner.collection, &compiler)
            return AccessPath(access: .ids(keys), count: keys.count, isExact: false)
        }
        let path = planner.path(to: condition)
        if let name = select.source.index, !name.text.isEmpty,
            !planner.collection.indexes.contains(where: { $0.name == name.text })
        {
            throw environment.unknownIndex(name, planner.collection)
        }
        return path
    }

    private func sourcePlans(_ path: AccessPath) throws(QueryError) -> [SourcePlan] {
        var plans: [SourcePlan] = []
        for (index, source) in ([select.source] + select.joins.map(\.source)).enumerated() {
            plans.append(
                SourcePlan(
                    name: source.name.text, alias: compiler.scope.members[index].name,
                    collection: environment.collection(source),
                    types: compiler.scope.members[index].types,
                    path: index == 0 ? path : .nothing))
        }
        return plans
    }

    /// The fields of the only source that the statement reads; none where it reads all of them.
    private func neededPaths() throws(QueryError) -> Set<[String]>? {
        guard select.joins.isEmpty, select.source.types.isEmpty, !environment.isStrict,
            !readsDocuments
        else { return nil }
        var expressions = select.groups
        expressions += [select.condition, select.having].compactMap { $0 }
        for column in select.columns {
            switch column {
            case .all: return nil
            case .expression(let expression, _): expressions.append(expression)
            }
        }
        // An alias in ORDER BY stands for its column.
        for term in select.ordering.terms where column(named: term.expression) == nil {
            expressions.append(term.expression)
        }
        var paths: Set<[String]> = []
        var readsAll = false
        for expression in expressions {
            try expression.forEachPath { (path, range) throws(QueryError) in
                switch try compiler.scope.resolve(path, at: range) {
                case .id: paths.insert([Row.idName])
                case .field(_, let path): paths.insert(path)
                case .row, .variable: readsAll = true
                }
            }
        }
        return readsAll ? nil : paths
    }

    /// What ORDER BY wants, where keys can give it; none where they cannot.
    private func wantedOrder(isGrouped: Bool) throws(QueryError) -> [IndexDescription.Field]? {
        guard !isGrouped, !select.isDistinct, select.joins.isEmpty else { return nil }
        var fields: [IndexDescription.Field] = []
        for term in select.ordering.terms {
            var expression = term.expression
            if let column = column(named: expression) { expression = column }
            guard case .path(let path) = expression.node else { return nil }
            switch try compiler.scope.resolve(path, at: expression.range) {
            case .id(_, let rest):
                fields.append(
                    IndexDescription.Field([Row.idName] + rest, isDescending: term.isDescending))
            case .field(let source, let path):
                let types = compiler.scope.members[source].types
                guard types.path(path, in: NameTable()).isShown else { return nil }
                fields.append(IndexDescription.Field(path, isDescending: term.isDescending))
            default: return nil
            }
        }
        return fields
    }

    /// The column whose alias an expression is.
    private func column(named expression: Expression) -> Expression? {
        guard case .path(let path) = expression.node, path.count == 1 else { return nil }
        for case .expression(let column, let alias?) in select.columns where alias.text == path[0] {
            return column
        }
        return nil
    }

    private mutating func bounds() throws(QueryError) -> (limit: Int?, offset: Int) {
        (
            try compiler.count(select.ordering.limit, for: "LIMIT"),
            try compiler.count(select.ordering.offset, for: "OFFSET") ?? 0
        )
    }

    // MARK: Output

    private struct Output {
        var projection: Projection
        var grouping: GroupPlan?
        var order: [SortTerm]
    }

    /// Whether rows are grouped; refuses what cannot be.
    private func checkGrouping() throws(QueryError) -> Bool {
        var expressions = select.ordering.terms.map(\.expression)
        if let having = select.having { expressions.append(having) }
        for case .expression(let expression, _) in select.columns { expressions.append(expression) }
        let isGrouped = !select.groups.isEmpty || expressions.contains(where: \.hasAggregate)
        if let having = select.having, !isGrouped {
            throw compiler.error(
                .meaning, "HAVING is about groups, and there are none",
                hint: "put the condition into WHERE", having)
        }
        guard isGrouped else { return false }
        for case .all(_, let range) in select.columns {
            throw QueryError(
                .meaning, "* cannot stand beside groups: each column is a key or an aggregate",
                at: range, in: environment.text)
        }
        return true
    }

    private mutating func planOutput(isGrouped: Bool) throws(QueryError) -> Output {
        var keys: [Evaluator] = []
        if isGrouped {
            for expression in select.groups {
                keys.append(try compiler.compile(expression).evaluator)
            }
            compiler.groups = try GroupScope(select.groups, compiler.scope)
        }
        let projection = try ProjectionCompiler.compile(select.columns, &compiler)
        let having = try select.having.map { (having) throws(QueryError) in
            try compiler.compilePredicate(having).predicate
        }
        var order: [SortTerm] = []
        for term in select.ordering.terms {
            let compiled = try compiler.compile(column(named: term.expression) ?? term.expression)
            guard !compiled.isConstant else { continue }
            order.append(
                SortTerm(
                    evaluator: compiled.evaluator, isDescending: term.isDescending,
                    text: term.expression.description))
        }
        var grouping: GroupPlan?
        if let groups = compiler.groups {
            grouping = GroupPlan(
                keys: keys, columns: groups.columns, having: having,
                text: select.groups.map(\.description),
                havingText: select.having?.description)
            compiler.groups = nil
        }
        return Output(projection: projection, grouping: grouping, order: order)
    }

    /// What can be counted in the tree instead of being visited.
    private func countedRanges(
        of plan: SelectPlan, _ path: AccessPath
    ) -> (of: [KeyRange], without: [KeyRange])? {
        guard let grouping = plan.grouping, grouping.keys.isEmpty, plan.joins.isEmpty,
            plan.filter == nil, plan.condition == nil, path.isExact,
            grouping.columns.allSatisfy({ $0.operand == nil && $0.kind == .count }),
            let collection = plan.sources[0].collection, !collection.hasPendingChanges
        else { return nil }
        switch path.access {
        case .nothing: return ([], [])
        case .index(let scan): return (scan.ranges, [])
        case .documents(let ranges, _):
            guard let tombstones = collection.tombstones, ranges == [collection.keys] else {
                return nil
            }
            return (ranges, [tombstones])
        default: return nil
        }
    }

    // MARK: Joins

    private mutating func planJoins() throws(QueryError) -> [JoinPlan] {
        var plans: [JoinPlan] = []
        for (number, join) in select.joins.enumerated() {
            let source = number + 1
            plans.append(
                JoinPlan(
                    kind: join.kind, source: source,
                    lookup: try lookup(join, source),
                    condition: try compiler.compilePredicate(join.condition).predicate,
                    conditionText: join.condition.description))
        }
        return plans
    }

    private mutating func lookup(
        _ join: Join, _ source: Int
    ) throws(QueryError) -> JoinPlan.Lookup {
        if environment.isVirtual(join.source) { return .scan }
        let name = join.source.index?.text
        if name?.isEmpty == true { return .scan }
        guard let collection = environment.collection(join.source) else { return .scan }
        let terms: [Expression]
        if case .and(let all) = join.condition.node {
            terms = all
        } else {
            terms = [join.condition]
        }
        var byIndex: JoinPlan.Lookup?
        for term in terms {
            guard case .comparison(.equal, let left, let right) = term.node else { continue }
            for (inner, outer) in [(left, right), (right, left)] {
                guard let path = try path(of: inner, in: source),
                    try depends(outer, onlyBefore: source)
                else { continue }
                if path == [Row.idName] { return .id(try compiler.compile(outer).evaluator) }
                let index = collection.indexes.first {
                    $0.fields[0].path == path && (name == nil || $0.name == name)
                }
                if let index, byIndex == nil {
                    byIndex = .index(index, try compiler.compile(outer).evaluator)
                }
            }
        }
        if let byIndex { return byIndex }
        throw QueryError(
            .meaning,
            "Joining to \"\(join.source.name.text)\" disallowed without appropriate index support. "
                + "Please run ADVISE for recommendations.",
            at: join.source.name.range, in: environment.text)
    }

    private func path(of expression: Expression, in source: Int) throws(QueryError) -> [String]? {
        guard case .path(let path) = expression.node else { return nil }
        switch try compiler.scope.resolve(path, at: expression.range) {
        case .id(source, let rest): return [Row.idName] + rest
        case .field(source, let path):
            let types = compiler.scope.members[source].types
            return types.path(path, in: NameTable()).isShown ? path : nil
        default: return nil
        }
    }

    /// Whether an expression reads the rows before a source alone.
    private func depends(
        _ expression: Expression, onlyBefore source: Int
    ) throws(QueryError) -> Bool {
        var isBefore = true
        try expression.forEachPath { (path, range) throws(QueryError) in
            switch try compiler.scope.resolve(path, at: range) {
            case .row(let other), .id(let other, _), .field(let other, _):
                if other >= source { isBefore = false }
            case .variable: break
            }
        }
        return isBefore
    }
}
