package import SheafDocument

/// The inputs of a run besides the statement.
package struct QueryOptions: Sendable {
    /// Values of the parameters.
    package var arguments: ArgumentValues
    /// Milliseconds since 1970.
    package var now: Int64
    /// Whether undeclared fields are registers.
    package var isStrict: Bool
    /// The interruption that ends the statement early; nil if it may run indefinitely.
    package var interruption: Interruption?
    /// The meter of the run's cost; nil if the cost is unlimited.
    package var meter: EvaluationMeter?
    /// Default directives, which the statement's own directives override.
    package var directives: [Object] = []
    /// Maximum memory of the hash table of a join, in bytes.
    package var maximumHashBytes = QueryLimits.maximumHashBytes
    /// A clock in nanoseconds, for PROFILE.
    package var clock: @Sendable () -> UInt64
    /// The generator of ids for documents without an id.
    package var newID: @Sendable () -> Value

    /// Whether no option changes the meaning of the statement.
    var isPlain: Bool { !isStrict && directives.isEmpty }

    package init(
        arguments: ArgumentValues = ArgumentValues(), now: Int64, isStrict: Bool = false,
        clock: @escaping @Sendable () -> UInt64, newID: @escaping @Sendable () -> Value
    ) {
        self.arguments = arguments
        self.now = now
        self.isStrict = isStrict
        self.clock = clock
        self.newID = newID
    }
}

/// The rows of a result; encoded documents are valid while the store is open.
package struct QueryRows {
    package let rows: ResultRows
    /// Names of the columns in order; nil if they depend on the documents.
    package let columns: [String]?
    /// Advice about the statement, for the log.
    package let notes: [String]

    /// Number of rows.
    package var count: Int { rows.count }

    /// All rows.
    package var items: [ResultItem] { rows.items }

    package init(
        _ rows: ResultRows = .items([]), columns: [String]? = nil, notes: [String] = []
    ) {
        self.notes = notes
        self.rows = rows
        self.columns = columns
    }

    package init(objects: [Object], columns: [String]? = nil, notes: [String] = []) {
        let items = objects.map { ResultItem(content: .object($0)) }
        self.init(.items(items), columns: columns, notes: notes)
    }
}

/// A run of a statement on a store.
package struct QueryRun {
    let statement: Statement
    let options: QueryOptions
    let environment: PlanEnvironment

    package init(
        _ statement: Statement, on store: any QueryStore, _ options: consuming QueryOptions
    ) {
        self.statement = statement
        if let strictness = statement.strictness { options.isStrict = strictness }
        environment = PlanEnvironment(
            text: statement.text, store: store, arguments: options.arguments,
            context: FunctionContext(
                now: options.now, interruption: options.interruption, meter: options.meter),
            isStrict: options.isStrict,
            directives: options.directives + statement.directives,
            maximumHashBytes: options.maximumHashBytes)
        self.options = options
    }

    /// Returns the rows of a statement that reads.
    package func rows() throws(StoreError) -> QueryRows {
        if isPlanReusable, !statement.readsPast, let state = environment.store.planState,
            let rows = try cachedRows(state)
        {
            return rows
        }
        return try rows(of: statement.body)
    }

    /// Whether plans may be cached.
    ///
    /// Planning evaluates constants. Their cost must not depend on the cache, so a metered run does
    /// not use it.
    private var isPlanReusable: Bool { options.meter == nil && options.directives.isEmpty }

    /// Returns the rows of a SELECT whose plan may be cached; nil for other statements.
    private func cachedRows(_ state: PlanState) throws(StoreError) -> QueryRows? {
        let plans = statement.plans
        let basis = PlanBasis(state, options.arguments, isStrict: options.isStrict)
        if let basis, let plan = plans.plan(basis) { return try rows(of: plan) }
        if let generic = plans.genericPlan(environment),
            let plan = try plans.bind(generic, environment)
        {
            let rows = try rows(of: plan)
            if statement.parameters.isEmpty, let basis {
                plans.cache(plan, basis)
            } else {
                plans.release(plan, of: generic, environment)
            }
            return rows
        }
        guard case .select(let select) = statement.body else { return nil }
        return try rows(of: try plan(select, basis))
    }

    /// Plans a SELECT, and caches its plan.
    private func plan(_ select: Select, _ basis: PlanBasis?) throws(StoreError) -> SelectPlan {
        let planner = SelectPlanner(select, environment)
        let (plan, isAsWritten) = try planner.planInBestOrder()
        guard !planner.compiler.readsClock else { return plan }
        if let basis { statement.plans.cache(plan, basis) }
        if isAsWritten, let generic = try planner.genericPlan(from: plan) {
            statement.plans.cache(generic, environment)
        }
        return plan
    }

    /// Returns the first rows of a statement that reads, at most `limit`; it ends after them.
    ///
    /// The rows of statements other than SELECT are few, and all returned.
    package func rows(upTo limit: Int) throws(StoreError) -> QueryRows {
        guard case .select(let select) = statement.body else { return try rows() }
        // The plan is changed, so it must not be one of the cache.
        let plan = try SelectPlanner(select, environment).plan()
        plan.limit = min(plan.limit ?? limit, limit)
        return try rows(of: plan)
    }

    private func rows(of plan: SelectPlan) throws(StoreError) -> QueryRows {
        QueryRows(
            try SelectRun(plan, environment).run(), columns: plan.columnNames, notes: plan.notes)
    }

    /// Plans a SELECT to check that it is valid.
    package func prepare() throws(StoreError) {
        guard case .select(let select) = statement.body else { return }
        let planner = SelectPlanner(select, environment)
        _ = try planner.plan()
    }

    private func rows(of body: Statement.Body) throws(StoreError) -> QueryRows {
        switch body {
        case .select(let select): return try rows(of: select).rows
        case .explain(let inner): return try explain(inner)
        case .profile(let inner): return try profile(inner)
        default: throw StoreError(.meaning, "the statement returns no rows")
        }
    }

    func rows(
        of select: Select, clock: (() -> UInt64)? = nil
    ) throws(StoreError) -> (rows: QueryRows, planned: PlannedSelect) {
        let plan = try SelectPlanner(select, environment).plan()
        let run = SelectRun(plan, environment, clock: clock)
        let rows = QueryRows(try run.run(), columns: plan.columnNames)
        return (rows, PlannedSelect(select: select, plan: plan, tallies: run.tallies))
    }

    /// Returns the changes of a statement that writes, except those passed to `consumer`.
    package func mutations(_ consumer: MutationConsumer?) throws(StoreError) -> MutationPlan {
        guard case .profile(let body) = statement.body else {
            return try mutations(of: statement.body, consumer)
        }
        // The time of changes must not count as time of the search.
        var plan = try mutations(of: body, nil, clock: options.clock)
        plan.profile = MutationProfile(body, options.clock)
        return plan
    }

    private func mutations(
        of body: Statement.Body, _ consumer: MutationConsumer?, clock: (() -> UInt64)? = nil
    ) throws(StoreError) -> MutationPlan {
        var planner = MutationPlanner(
            environment: environment, newID: options.newID, clock: clock)
        planner.consumer = consumer
        if options.isPlain {
            planner.key = statement.fastPath?.key(options.arguments, in: environment.store)
        }
        if isPlanReusable { planner.plans = statement.plans }
        switch body {
        case .update(let update): return try planner.plan(update)
        case .delete(let delete): return try planner.plan(delete)
        case .insert(let insert):
            guard case .select(let select) = insert.documents else {
                return try planner.plan(insert, rows: nil)
            }
            var objects: [Object] = []
            let found = try rows(of: select, clock: clock)
            for (number, item) in found.rows.items.enumerated() {
                if number & 0xFF == 0xFF { try options.interruption?.check() }
                objects.append(try item.object(environment.store.names))
            }
            var plan = try planner.plan(insert, rows: objects)
            plan.finding = found.planned
            return plan
        default: throw StoreError(.meaning, "the statement changes no documents")
        }
    }

    /// Returns the rows of RETURNING and PROFILE, after `count` documents were changed.
    package func returned(
        _ documents: [Object], by plan: MutationPlan, changing count: Int
    ) throws(StoreError) -> QueryRows {
        let profile = plan.profile?.finish(plan, count, environment)
        let rows = plan.returnsRows ? try returned(documents) : QueryRows()
        return profile.map(rows.appending) ?? rows
    }

    private func returned(_ documents: [Object]) throws(StoreError) -> QueryRows {
        guard let (source, columns) = statement.body.returning, !columns.isEmpty else {
            return QueryRows()
        }
        let planner = SelectPlanner(
            Select(columns: columns, source: source), environment, rows: documents)
        let plan = try planner.plan()
        return QueryRows(try SelectRun(plan, environment).run(), columns: plan.columnNames)
    }
}

extension Statement.Body {
    /// The source and columns of the RETURNING clause.
    fileprivate var returning: (Source, [ResultColumn])? {
        switch self {
        case .insert(let insert): (insert.source, insert.returning)
        case .update(let update): (update.source, update.returning)
        case .delete(let delete): (delete.source, delete.returning)
        case .profile(let inner): inner.returning
        default: nil
        }
    }
}
