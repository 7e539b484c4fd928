import SheafBytes
import SheafDocument

/// A planner of the changes of UPDATE, DELETE, EVICT and INSERT.
struct MutationPlanner {
    let environment: PlanEnvironment
    /// The generator of ids for documents without an id.
    let newID: () -> Value
    /// A clock in nanoseconds, for PROFILE.
    var clock: (() -> UInt64)?
    /// The key of the only document that the statement can change, if known.
    var key: [UInt8]?
    /// The plan cache of the statement; nil if the plan must not be cached.
    var plans: PlanSlot?
    /// Applies changes before all are planned, which bounds their memory.
    ///
    /// They must not change what the statement reads.
    var consumer: MutationConsumer?

    /// The number of changes that are planned before any of them is applied.
    private static let batchLength = 4_096

    /// Passes the planned changes to the consumer if they are many.
    private func consume(
        _ mutations: inout [Mutation], returned: FieldTypes?
    ) throws(StoreError) {
        guard mutations.count >= Self.batchLength, let consumer else { return }
        try consumer(mutations, returned)
        mutations.removeAll(keepingCapacity: true)
    }

    // MARK: DELETE and EVICT

    func plan(_ delete: Delete) throws(StoreError) -> MutationPlan {
        var mutations: [Mutation] = []
        var older: [Object] = []
        let action: Mutation.Action = delete.isEviction ? .evict : .delete
        let returnsRows = !delete.returning.isEmpty
        let finding = try forEachDocument(
            of: delete.source, by: { () throws(StoreError) in try selection(delete) },
            readsAll: returnsRows
        ) { (id, document, _) throws(StoreError) in
            if let document { older.append(document) }
            mutations.append(
                Mutation(
                    collection: delete.source.name.text, id: id, action: action,
                    range: delete.source.name.range))
            try consume(&mutations, returned: nil)
        }
        return MutationPlan(
            mutations: mutations, returnsOlderDocuments: true, returnsRows: returnsRows,
            older: older, types: types(of: delete.source), finding: finding)
    }

    /// Returns the SELECT that finds the documents to delete.
    func selection(_ delete: Delete) throws(StoreError) -> Select {
        try delete.ordering.refuseConstants(
            of: delete.isEviction ? "EVICT" : "DELETE", in: environment.text)
        return try selection(
            of: delete.source, delete.condition, delete.ordering,
            readsFields: !delete.returning.isEmpty)
    }

    // MARK: UPDATE

    func plan(_ update: Update) throws(StoreError) -> MutationPlan {
        let compiler = environment.compiler()
        let assignments = try compile(update, compiler)
        var mutations: [Mutation] = []
        let types = types(of: update.source)
        let returnsRows = !update.returning.isEmpty
        let finding = try forEachDocument(
            of: update.source, by: { () throws(StoreError) in try selection(update) },
            readsAll: false, variableCount: compiler.scope.variableCount
        ) { (id, _, frame) throws(StoreError) in
            var edits: [Edit] = []
            for assignment in assignments {
                if let edit = try assignment(frame) { edits.append(edit) }
            }
            guard !edits.isEmpty else { return }
            mutations.append(
                Mutation(
                    collection: update.source.name.text, id: id,
                    action: .edit(edits.withoutReplacedValues()),
                    range: update.source.name.range))
            try consume(&mutations, returned: returnsRows ? types : nil)
        }
        return MutationPlan(
            mutations: mutations, returnsOlderDocuments: false, returnsRows: returnsRows,
            older: [], types: types, finding: finding)
    }

    /// Returns the SELECT that finds the documents to update.
    func selection(_ update: Update) throws(StoreError) -> Select {
        // Assigned values may depend on any field.
        try selection(of: update.source, update.condition, Ordering(), readsFields: true)
    }

    /// Returns the declared field types of a source.
    func types(of source: Source) -> FieldTypes {
        FieldTypes(source.types, isStrict: environment.isStrict)
    }

    private typealias NumberMaker = (RowContext) throws(StoreError) -> Number
    private typealias EditMaker = (RowContext) throws(StoreError) -> Edit?

    private func compile(
        _ update: Update, _ compiler: ExpressionCompiler
    ) throws(StoreError) -> [EditMaker] {
        try compiler.scope.add(update.source, isStrict: environment.isStrict)
        let types = compiler.scope.members[0].types
        let checker = AssignmentChecker(
            text: environment.text, source: Scope.name(of: update.source), types: types)
        var makers: [EditMaker] = []
        for assignment in update.assignments {
            makers.append(try maker(of: assignment, checker, compiler))
        }
        return makers
    }

    private func maker(
        of assignment: Assignment, _ checker: AssignmentChecker,
        _ compiler: ExpressionCompiler
    ) throws(StoreError) -> EditMaker {
        let path = try checker.path(of: assignment)
        switch assignment {
        case .set(let target, let expression):
            let evaluator = try compiler.compile(expression).evaluator
            let mode = try checker.mode(for: assignment)
            let maker: EditMaker = { (frame) throws(StoreError) -> Edit? in
                // A missing value leaves the field unchanged.
                guard let found = try evaluator(frame) else { return nil }
                return try checker.edit(path, to: found, as: mode, at: target.range)
            }
            return maker
        case .unset:
            let parts = checker.parts(of: path)
            let maker: EditMaker = { (_) throws(StoreError) -> Edit? in
                Edit.unset(path: path, parts: parts)
            }
            return maker
        case .increment(_, let expression):
            let number = try number(expression, "INCREMENT BY", compiler)
            let maker: EditMaker = { (frame) throws(StoreError) -> Edit? in
                Edit.increment(path: path, by: try number(frame))
            }
            return maker
        case .restart(_, let expression):
            let number: NumberMaker
            if let expression {
                number = try self.number(expression, "RESTART WITH", compiler)
            } else {
                number = { (_) throws(StoreError) -> Number in .integer(0) }
            }
            let maker: EditMaker = { (frame) throws(StoreError) -> Edit? in
                Edit.restart(path: path, with: try number(frame))
            }
            return maker
        case .incrementOlder(_, let expression):
            let number = try number(expression, "PN_INCREMENT BY", compiler)
            let maker: EditMaker = { (frame) throws(StoreError) -> Edit? in
                Edit.incrementOlder(path: path, by: try number(frame))
            }
            return maker
        }
    }

    private func number(
        _ expression: Expression, _ clause: String, _ compiler: ExpressionCompiler
    ) throws(StoreError) -> NumberMaker {
        let evaluator = try compiler.compile(expression).evaluator
        let text = environment.text
        return { (frame) throws(StoreError) -> Number in
            let value = try evaluator(frame)
            guard let number = value.flatMap(Number.init) else {
                throw StoreError(
                    .argument, "\(clause) takes a number, not \(value?.json ?? "MISSING")",
                    at: expression.range, in: text)
            }
            return number
        }
    }

    // MARK: Documents

    /// Throws for system collections and reserved names.
    func checkChangeable(_ source: Source) throws(StoreError) {
        guard !environment.isVirtual(source) else {
            throw StoreError(
                .meaning, "\(source.name.text) is a system collection and cannot be changed",
                at: source.name.range, in: environment.text)
        }
        guard !PlanEnvironment.isReserved(source) else {
            throw StoreError(
                .meaning,
                "\(source.name.text) cannot be changed: names that begin with __ are reserved",
                hint: "use a collection whose name does not begin with __", at: source.name.range,
                in: environment.text)
        }
    }

    /// Returns the SELECT that finds the documents to change.
    private func selection(
        of source: Source, _ condition: Expression?, _ ordering: Ordering, readsFields: Bool
    ) throws(StoreError) -> Select {
        try checkChangeable(source)
        let (range, name) = (source.name.range, Scope.name(of: source))
        let id = Expression(.path([name, Row.idName]), at: range)
        var columns = [ResultColumn.expression(id, alias: nil)]
        // The additional column prevents covering scans, which lack the fields to read.
        if readsFields { columns.append(.all(qualifier: Name(name, at: range), at: range)) }
        var select = Select(columns: columns, source: source)
        select.condition = condition
        select.ordering = ordering
        return select
    }

    /// Visits the documents of a statement before any of them is changed.
    private func forEachDocument(
        of source: Source, by selection: () throws(StoreError) -> Select, readsAll: Bool,
        variableCount: Int = 0,
        _ body: @escaping (_ id: Value, _ document: Object?, RowContext) throws(StoreError) -> Void
    ) throws(StoreError) -> PlannedSelect? {
        let types = types(of: source)
        if let key {
            let frame = RowContext(
                sourceCount: 1, variableCount: variableCount, names: environment.store.names,
                context: environment.context)
            try environment.store.read(key) { (document) throws(StoreError) in
                frame.rows[0] = Row(document)
                try visit(frame, readsAll ? types : nil, body)
            }
            return nil
        }
        if clock == nil, let plans, let generic = plans.genericPlan(environment),
            let plan = try plans.bind(generic, environment)
        {
            try SelectRun(plan, environment).forEach { (frame) throws(StoreError) in
                try visit(frame, readsAll ? types : nil, body)
            }
            plans.release(plan, of: generic, environment)
            return nil
        }
        let select = try selection()
        let planner = SelectPlanner(select, environment)
        let plan = try planner.plan()
        // The expressions of the statement use the row context of the search.
        plan.variableCount = max(plan.variableCount, variableCount)
        if let plans, let generic = try planner.genericPlan(from: plan) {
            plans.cache(generic, environment)
        }
        let run = SelectRun(plan, environment, clock: clock)
        try run.forEach { (frame) throws(StoreError) in
            try visit(frame, readsAll ? types : nil, body)
        }
        return PlannedSelect(select: select, plan: plan, tallies: run.tallies)
    }

    /// Passes the id of the current document to `body`, with its fields if `types` is not nil.
    private func visit(
        _ frame: RowContext, _ types: FieldTypes?,
        _ body: (_ id: Value, _ document: Object?, RowContext) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let id = try frame.rows[0].idValue() else { return }
        let object = try types.flatMap { (types) throws(StoreError) in
            try frame.rows[0].object(types, frame.names)
        }
        try body(id, object, frame)
    }
}
