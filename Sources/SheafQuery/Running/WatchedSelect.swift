import SheafBytes
import SheafDocument

/// What a SELECT of one collection asks of each document by itself: whether it belongs to the result,
/// what it is sorted by, and what becomes of it there.
///
/// It is made for one set of arguments. One thread at a time may use it.
package final class WatchedSelect {
    /// What all documents of the result have in common, so that they can be looked up.
    package enum Handle: Hashable, Sendable {
        /// The key of the only document that there can be.
        case document([UInt8])
        /// The value of a field, by its path: what is equal has the same bytes.
        case field([String], [UInt8])
        case none
    }

    /// By what documents are looked up.
    package let handle: Handle
    /// Whether a changed document changes the result in a way that it tells by itself; if not, the
    /// statement has to be run again.
    package let isIncremental: Bool
    package let limit: Int?
    /// The columns of the rows; none where they are whole documents.
    package let columns: [String]?
    /// How many names there were when this was made: more may give fields a number that they had not.
    package let nameCount: Int
    /// Whether each change of a document that is seen changes the result.
    package var showsEachChange: Bool {
        isIncremental && limit == nil && columns == nil && isPlain
    }

    package let isDescending: [Bool]
    private let filter: FieldFilter?
    private let rest: Predicate?
    private let order: [SortTerm]
    private let projection: Projection
    private let types: [FieldTypes]
    /// Whether documents are seen as they are, and not by declared types.
    package let isPlain: Bool
    private let isLazy: Bool
    private let frame: Frame

    fileprivate init(
        _ planner: SelectPlanner, _ output: SelectPlanner.Output,
        handle: Handle, filter: FieldFilter?, rest: Predicate?, limit: Int?, isIncremental: Bool
    ) {
        self.handle = handle
        self.filter = filter
        self.rest = rest
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
        frame = Frame(
            sourceCount: 1, variableCount: planner.compiler.scope.variableCount,
            names: planner.environment.store.names, context: planner.environment.context)
    }

    /// Whether a document belongs to the result.
    package func matches(_ document: ScannedDocument) throws(QueryError) -> Bool {
        // Not all who ask have looked documents up.
        if case .document(let id) = handle, !id.elementsEqual(document.id) { return false }
        if let filter {
            let holds = try onDocument(at: document.place) { () throws(Malformed) in
                try filter.holds(document.fields)
            }
            guard holds else { return false }
        }
        guard let rest else { return true }
        frame.rows[0] = Row(document)
        return try rest(frame) == .yes
    }

    /// What a document of the result is sorted by.
    func keys(_ document: ScannedDocument) throws(QueryError) -> [Value?] {
        guard !order.isEmpty else { return [] }
        frame.rows[0] = Row(document)
        var keys: [Value?] = []
        for term in order { keys.append(try term.evaluator(frame)) }
        return keys
    }

    /// The row of a document.
    func row(_ document: ScannedDocument) throws(QueryError) -> LiveRow {
        let keys = try keys(document)
        guard !isLazy || !document.isLasting || !types[0].showAll(of: document.fields) else {
            let item = ResultItem(
                content: .stored(
                    fields: document.fields, id: document.id, place: document.place))
            return LiveRow(item, keys: keys, id: Array(document.id))
        }
        frame.rows[0] = Row(document)
        let object = try projection.object(frame, types)
        return LiveRow(ResultItem(content: .object(object)), keys: keys, id: Array(document.id))
    }
}

/// What observers of a statement have to look at.
package enum Watch {
    /// The documents of one collection.
    case select(WatchedSelect, collection: String)
    /// Whatever changes in some collections, or in what is seen of their documents without types.
    case collections([String], isPlain: Bool)
    /// What no commit tells of: somebody has to look from time to time.
    case system
}

extension QueryRun {
    /// Whether the statement says in which order its rows come.
    package var ordersRows: Bool {
        guard case .select(let select) = statement.body else { return false }
        return !select.ordering.terms.isEmpty
    }

    /// What somebody has to look at who waits for a statement that cannot be run to be run.
    package var watchOfAll: Watch {
        guard case .select(let select) = statement.body else { return .system }
        let sources = [select.source] + select.joins.map(\.source)
        return .collections(sources.map(\.name.text), isPlain: false)
    }

    /// How all documents of a watched result are found, in any order and without limit.
    ///
    /// It is planned for the state that is looked at: indexes come and go.
    func planOfDocuments() throws(QueryError) -> SelectPlan? {
        guard case .select(let select) = statement.body else { return nil }
        var all = Select(
            columns: [.all(qualifier: nil, at: select.source.name.range)], source: select.source)
        all.condition = select.condition
        return try SelectPlanner(all, environment).plan()
    }

    /// What somebody has to look at who keeps the result of a SELECT up to date.
    package func watch() throws(QueryError) -> Watch {
        guard case .select(let select) = statement.body else {
            throw QueryError(
                .meaning, "only the result of a SELECT can be observed",
                at: SourceRange(0, statement.text.utf8.count), in: statement.text)
        }
        let sources = [select.source] + select.joins.map(\.source)
        if sources.contains(where: environment.isVirtual) {
            // Whatever is wrong with the statement is said now.
            _ = try SelectPlanner(select, environment).plan()
            return .system
        }
        let planner = SelectPlanner(select, environment)
        guard let watched = try planner.watched() else {
            let plan = try SelectPlanner(select, environment).plan()
            return .collections(
                sources.map(\.name.text), isPlain: plan.sources.allSatisfy(\.types.isPlain))
        }
        return .select(watched, collection: select.source.name.text)
    }
}

extension SelectPlanner {
    /// What the statement asks of each document by itself; none where it asks for more.
    fileprivate func watched() throws(QueryError) -> WatchedSelect? {
        guard select.joins.isEmpty, select.source.ids == nil else { return nil }
        try add(select.source)
        let isGrouped = try checkGrouping()
        var (filter, rest): (FieldFilter?, Predicate?) = (nil, nil)
        var handle = WatchedSelect.Handle.none
        if let condition = select.condition {
            let (asked, _, left) = try FilterCompiler(compiler: compiler, source: 0)
                .split(condition)
            filter = asked
            rest = try Self.conjunction(left, of: condition).map { (left) throws(QueryError) in
                try compiler.compilePredicate(left).predicate
            }
            handle = try self.handle(of: condition)
            // The id is all that is asked.
            if case .document = handle, case .comparison = condition.node {
                (filter, rest) = (nil, nil)
            }
        }
        let output = try planOutput(isGrouped: isGrouped)
        let (limit, offset) = try bounds()
        guard !compiler.readsClock else { return nil }
        return WatchedSelect(
            self, output, handle: handle, filter: filter, rest: rest, limit: limit,
            isIncremental: !isGrouped && !select.isDistinct && offset == 0)
    }

    /// What the documents for which a condition holds have in common.
    private func handle(of condition: Expression) throws(QueryError) -> WatchedSelect.Handle {
        let terms: [Expression]
        if case .and(let all) = condition.node { terms = all } else { terms = [condition] }
        var found = WatchedSelect.Handle.none
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
