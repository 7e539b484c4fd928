import SheafBytes
package import SheafDocument

/// The definition of an incremental view: a SELECT that is evaluated per document.
///
/// It is compiled for one set of arguments and must be used by one thread at a time.
package final class IncrementalViewDefinition {
    /// A property that all documents of the result share, by which views are indexed.
    package enum Handle: Hashable, Sendable {
        /// The key of the only possible document.
        case document([UInt8])
        /// The path of a field and the encoded value; equal values have equal bytes.
        case field([String], [UInt8])
        case none
    }

    /// The shared property of the documents.
    package let handle: Handle
    /// Whether each changed document alone determines the change of the result.
    ///
    /// Otherwise, the statement must run again.
    package let isIncremental: Bool
    package let limit: Int?
    /// Names of the columns in order; nil if they depend on the documents.
    package let columns: [String]?
    /// Number of names known at creation; later names may give unknown fields a number.
    package let nameCount: Int
    /// Whether every visible change of a matching document changes the result.
    package var reportsEachChange: Bool {
        isIncremental && limit == nil && columns == nil && isPlain
    }

    package let isDescending: [Bool]
    private let filter: FieldFilter?
    private let residualPredicate: Predicate?
    private let order: [SortTerm]
    private let projection: Projection
    private let types: [FieldTypes]
    /// Whether the statement declares no types, so that documents appear unchanged.
    package let isPlain: Bool
    private let isLazy: Bool
    private let frame: RowContext

    fileprivate init(
        _ planner: SelectPlanner, _ output: SelectPlanner.Output,
        handle: Handle, filter: FieldFilter?, rest: Predicate?, limit: Int?, isIncremental: Bool
    ) {
        self.handle = handle
        self.filter = filter
        self.residualPredicate = rest
        self.limit = limit
        self.isIncremental = isIncremental
        order = output.order
        isDescending = output.order.map(\.isDescending)
        projection = output.projection
        columns = output.projection.columnNames
        types = planner.compiler.scope.members.map(\.types)
        nameCount = planner.environment.store.names.count
        isPlain = types[0].isPlain
        if case .document = projection { isLazy = true } else { isLazy = false }
        frame = RowContext(
            sourceCount: 1, variableCount: planner.compiler.scope.variableCount,
            names: planner.environment.store.names, context: planner.environment.context)
    }

    /// Whether a document satisfies the condition.
    package func matches(_ document: ScannedDocument) throws(StoreError) -> Bool {
        // Some callers have not looked the document up by the handle.
        if case .document(let id) = handle, !id.elementsEqual(document.id) { return false }
        if let filter {
            let holds = try onDocument(at: document.position) { () throws(Malformed) in
                try filter.holds(document.fields)
            }
            guard holds else { return false }
        }
        guard let residualPredicate else { return true }
        frame.rows[0] = Row(document)
        return try residualPredicate(frame) == .yes
    }

    /// Returns the values of the ORDER BY terms for a document.
    func keys(_ document: ScannedDocument) throws(StoreError) -> [Value?] {
        guard !order.isEmpty else { return [] }
        frame.rows[0] = Row(document)
        var keys: [Value?] = []
        for term in order { keys.append(try term.evaluator(frame)) }
        return keys
    }

    /// Returns the row of a document, left encoded if it is complete and its bytes are lasting.
    func row(_ document: ScannedDocument) throws(StoreError) -> ViewRow {
        let keys = try keys(document)
        guard !isLazy || !document.isLasting || !types[0].coverAllFields(of: document.fields) else {
            let item = ResultItem(
                content: .stored(
                    fields: document.fields, id: document.id, position: document.position))
            return ViewRow(item, keys: keys, id: Array(document.id))
        }
        frame.rows[0] = Row(document)
        let object = try projection.object(frame, types)
        return ViewRow(ResultItem(content: .object(object)), keys: keys, id: Array(document.id))
    }
}

/// The changes that an observer of a statement must follow.
package enum ObservedChanges {
    /// Documents of one collection, evaluated one by one.
    case select(IncrementalViewDefinition, collection: String)
    /// Any change in these collections; if `isPlain`, only changes of visible fields.
    case collections([String], isPlain: Bool)
    /// System collections, which no commit changes; the statement must be polled.
    case system
}

extension QueryRun {
    /// Whether the statement has an ORDER BY clause.
    package var ordersRows: Bool {
        guard case .select(let select) = statement.body else { return false }
        return !select.ordering.terms.isEmpty
    }

    /// The changes to follow while the statement fails, after which it may succeed.
    package var allChanges: ObservedChanges {
        guard case .select(let select) = statement.body else { return .system }
        let sources = [select.source] + select.joins.map(\.source)
        return .collections(sources.map(\.name.text), isPlain: false)
    }

    /// Returns a plan for all documents of an observed result, without order and limit.
    ///
    /// It is planned for the current snapshot, because indexes may be created and dropped.
    func planOfDocuments() throws(StoreError) -> SelectPlan? {
        guard case .select(let select) = statement.body else { return nil }
        var all = Select(
            columns: [.all(qualifier: nil, at: select.source.name.range)], source: select.source)
        all.condition = select.condition
        return try SelectPlanner(all, environment).plan()
    }

    /// Returns the changes to follow in order to keep the result of a SELECT up to date.
    package func observedChanges() throws(StoreError) -> ObservedChanges {
        guard case .select(let select) = statement.body else {
            throw StoreError(
                .meaning, "only the result of a SELECT can be observed",
                at: SourceRange(0, statement.text.utf8.count), in: statement.text)
        }
        let sources = [select.source] + select.joins.map(\.source)
        if let past = sources.first(where: { $0.asOf != nil }) {
            throw StoreError(
                .meaning, "a state AS OF an earlier commit never changes, so it cannot be observed",
                hint: "run the statement once", page: "asof", at: past.name.range,
                in: statement.text)
        }
        if sources.contains(where: environment.isVirtual) {
            // Planning reports the errors of the statement.
            _ = try SelectPlanner(select, environment).plan()
            return .system
        }
        let planner = SelectPlanner(select, environment)
        guard let definition = try planner.definition() else {
            let plan = try SelectPlanner(select, environment).plan()
            return .collections(
                sources.map(\.name.text), isPlain: plan.sources.allSatisfy(\.types.isPlain))
        }
        return .select(definition, collection: select.source.name.text)
    }
}

extension SelectPlanner {
    /// Compiles the statement as a view; nil if it has joins or USE IDS, or reads the clock.
    fileprivate func definition() throws(StoreError) -> IncrementalViewDefinition? {
        guard select.joins.isEmpty, select.source.ids == nil else { return nil }
        try add(select.source)
        let isGrouped = try checkGrouping()
        var (filter, rest): (FieldFilter?, Predicate?) = (nil, nil)
        var handle = IncrementalViewDefinition.Handle.none
        if let condition = select.condition {
            let (filtered, _, left) = try FilterCompiler(compiler: compiler, source: 0)
                .split(condition)
            filter = filtered
            rest = try Self.conjunction(left, of: condition).map { (left) throws(StoreError) in
                try compiler.compilePredicate(left).predicate
            }
            handle = try self.handle(of: condition)
            // The handle already covers the complete condition.
            if case .document = handle, case .comparison = condition.node {
                (filter, rest) = (nil, nil)
            }
        }
        let output = try planOutput(isGrouped: isGrouped)
        let (limit, offset) = try bounds()
        guard !compiler.readsClock else { return nil }
        return IncrementalViewDefinition(
            self, output, handle: handle, filter: filter, rest: rest, limit: limit,
            isIncremental: !isGrouped && !select.isDistinct && offset == 0)
    }

    /// Returns a property that all documents satisfying the condition share.
    private func handle(of condition: Expression) throws(StoreError)
        -> IncrementalViewDefinition.Handle
    {
        let terms: [Expression]
        if case .and(let all) = condition.node { terms = all } else { terms = [condition] }
        var found = IncrementalViewDefinition.Handle.none
        for term in terms {
            guard case .comparison(.equal, let left, let right) = term.node else { continue }
            for (path, value) in [(left, right), (right, left)] {
                guard case .path(let names) = path.node,
                    case .constant(let constant?) = try compiler.compile(value)
                else { continue }
                let identity = SortKey.identity(of: constant)
                switch try compiler.scope.resolve(names, at: path.range) {
                case .id(_, let rest) where rest.isEmpty: return .document(identity)
                case .field(let source, let path):
                    guard compiler.scope.members[source].types.isShown(path) else { continue }
                    if found == .none { found = .field(path, identity) }
                default: continue
                }
            }
        }
        return found
    }
}
