package import SheafDocument
import SheafDocumentModel
import SheafEngine
import SheafQuery
package import SheafStatements
import SheafStorage
import SheafStore
import SheafTestSupport

/// A difference between a statement and the model.
package struct QueryDifference: Error, CustomStringConvertible {
    package let description: String

    init(_ problem: String, _ text: String, _ arguments: [String: Value], _ context: String) {
        let values = arguments.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value.json)" }
        description = ([problem, text] + values + [context]).joined(separator: "\n  ")
    }
}

/// A store with indexes on a simulated disk, and a model of its documents.
package final class QuerySimulation {
    struct DocumentName: Hashable {
        let collection: String
        let id: Value
    }

    static let now: Int64 = 1_780_000_000_000
    private let volume: SimulatedVolume
    private let clock = FakeClock()
    private let seed: UInt64
    private(set) var store: StoreEngine
    private(set) var queries: QueryEngine
    private(set) var models: [DocumentName: ModelDocument] = [:]
    /// The visible documents of the model, by collection.
    private(set) var documents: [String: [Value: Object]] = [:]
    private var time = HybridTime.initial
    /// The transaction in which statements run, if any.
    private var transaction: DocumentTransaction?
    let context = FunctionContext(now: QuerySimulation.now)
    /// Maximum memory of the hash tables of joins, in bytes.
    package var maximumHashBytes = QueryLimits.maximumHashBytes

    package init(seed: UInt64) throws {
        self.seed = seed
        volume = SimulatedVolume(seed: seed)
        store = try StoreEngine(opening: volume, options: Self.options(seed, clock))
        queries = try Self.queries(store, seed)
    }

    /// Returns an engine that reads all fields of full scans from columns, or none of them.
    private static func queries(_ store: StoreEngine, _ seed: UInt64) throws -> QueryEngine {
        let queries = QueryEngine(try DocumentEngine(store))
        queries.columns.setLimits(
            bytes: seed.isMultiple(of: 2) ? 0 : ColumnCache.defaultBytes, scans: 0)
        return queries
    }

    private static func options(_ seed: UInt64, _ clock: FakeClock) -> LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 12_000
        // Changes beyond this length are written before their transaction commits.
        if seed.isMultiple(of: 3) { options.stagingThreshold = 100 }
        options.history = HistoryHorizon(commits: 10, bytes: .max)
        options.clock = clock.clock
        let random = SeededSource(seed: seed)
        options.random = { random.next() }
        return options
    }

    // MARK: The store

    package func flush() throws { while try store.flush() {} }

    package func compact() throws {
        try flush()
        store.compactEverything()
        while try store.compactionStep() {}
    }

    package func reopen() throws {
        try flush()
        try store.close()
        store = try StoreEngine(opening: volume, options: Self.options(seed, clock))
        queries = try Self.queries(store, seed)
    }

    @discardableResult
    package func execute(
        _ text: String, _ arguments: [String: Value] = [:]
    ) throws(StoreError) -> ResultStorage {
        try run(DQL(verbatim: text), QueryArguments(arguments))
    }

    /// Runs a query that may contain interpolated values.
    func run(_ query: DQL, _ arguments: QueryArguments) throws(StoreError) -> ResultStorage {
        clock.advance(milliseconds: 1)
        let (statement, values) = try queries.prepare(query, arguments)
        if var open = transaction {
            // A single owner, so that the transaction is changed in place.
            transaction = nil
            defer { transaction = open }
            return try queries.execute(statement, values, in: &open, CommitCell())
        }
        let store = store
        return try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
    }

    /// Commits the statements that `body` executes as one transaction, or rolls them back.
    func transaction(isKept: Bool, _ body: () throws -> Void) throws {
        let before = kept()
        transaction = queries.documents.begin()
        try body()
        guard var ended = transaction else { return }
        transaction = nil
        guard isKept else {
            queries.documents.rollBack(&ended)
            return restore(before)
        }
        let store = store
        _ = try queries.documents.commit(&ended) { batch throws(StorageError) in
            try store.append(batch)
        }
    }

    /// Returns a reader of the durable state, or of all commits so far.
    func reader(isPending: Bool) -> SnapshotReader {
        guard isPending else { return queries.reader() }
        var transaction = queries.documents.begin()
        defer { queries.documents.rollBack(&transaction) }
        return queries.reader(of: transaction)
    }

    /// Returns the rows of a statement that reads.
    func rows(
        _ statement: Statement, _ arguments: [String: Value], _ reader: SnapshotReader
    ) throws(StoreError) -> [Object] {
        var options = QueryOptions(
            arguments: ArgumentValues(arguments), now: Self.now, clock: { 0 }, newID: { .null })
        options.maximumHashBytes = maximumHashBytes
        var objects: [Object] = []
        for item in try QueryRun(statement, on: reader, options).rows().items {
            objects.append(try item.object(reader.names))
        }
        return objects
    }

    /// Returns the rows of a statement, from the durable state or from all commits so far.
    package func rows(
        _ text: String, _ arguments: [String: Value] = [:], isPending: Bool = false
    ) throws -> [Value] {
        if !isPending { try flush() }
        return try rows(Parser.parse(text), arguments, reader(isPending: isPending))
            .map(Value.object)
    }

    // MARK: The model

    func naive(
        _ select: Select, _ arguments: [String: Value]
    ) throws(StoreError) -> NaiveRows {
        let documents = documents
        var naive = NaiveSelect(select, arguments, context) { documents[$0] ?? [:] }
        return try naive.run()
    }

    /// Changes a document of the model; returns whether it differs afterwards.
    func change(
        _ collection: String, _ id: Value, _ body: (inout ModelDocument?, Stamp) -> Void
    ) -> Bool {
        let name = DocumentName(collection: collection, id: id)
        time = HybridTime(milliseconds: time.milliseconds + 1, counter: 0)
        let before = models[name]
        var model = before
        body(&model, Stamp(time, Site(rawValue: 1)))
        models[name] = model
        var shown: Object?
        if case .object(var object)? = model?.value {
            object["_id"] = id
            shown = object
        }
        documents[collection, default: [:]][id] = shown
        return model != before
    }

    func kept() -> ([DocumentName: ModelDocument], [String: [Value: Object]]) {
        (models, documents)
    }

    func restore(_ kept: ([DocumentName: ModelDocument], [String: [Value: Object]])) {
        (models, documents) = kept
    }

    /// The indexes of the store.
    var indexes: [RandomSelects.Index] {
        let snapshot = queries.documents.snapshot()
        return RandomSelects.collections.flatMap { collection in
            snapshot.indexes(of: collection).map { index in
                RandomSelects.Index(
                    name: index.name, collection: collection,
                    fields: index.fields.map { ($0.path, $0.isDescending) })
            }
        }
    }

    /// Returns a description of the indexes, for reports.
    package func indexText() -> String {
        let lines = indexes.map { index in
            "\(index.name) ON \(index.collection)("
                + index.fields.map {
                    $0.path.joined(separator: ".") + ($0.isDescending ? " DESC" : "")
                }.joined(separator: ", ") + ")"
        }
        return "with " + (lines.isEmpty ? "no index" : lines.joined(separator: "; "))
    }
}
