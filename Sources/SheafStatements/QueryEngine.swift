import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery
package import SheafStorage
import SheafSystem
package import Synchronization

/// The executor of statements against the documents of a store.
package final class QueryEngine: Sendable {
    package let source: DocumentSource
    private let statements = SharedStatements()
    package let sharedParameters: Mutex<SharedParameters>
    package let requests: RequestLog
    /// The system collections that other layers provide.
    package let registeredCollections = RegisteredCollections()
    package let options: LogStoreOptions
    /// The earlier states that statements have read.
    package let pastStates: PastStates
    /// The fields that full scans read from memory.
    package let columns = ColumnCache()
    let spareEncoder = SpareEncoder()
    /// A number that is unique among the engines of the process.
    package let number = QueryEngine.count.add(1, ordering: .relaxed).newValue

    private static let count = Atomic<UInt64>(0)

    /// The destination of log messages; nil discards them.
    package let log: StoreLog?

    /// Whether EVICT is refused, because the store is that of a hub.
    let keepsDocuments = Atomic(false)

    package convenience init(
        _ documents: DocumentEngine, log: StoreLog? = nil, isStrict: Bool = false
    ) {
        self.init(.engine(documents), documents.store.options, log, isStrict: isStrict)
    }

    /// Creates the engine of a read-only store, which refuses statements that write.
    package convenience init(
        reading reader: LogReader, options: LogStoreOptions = LogStoreOptions(),
        log: StoreLog? = nil, isStrict: Bool = false
    ) throws(StoreError) {
        do throws(EngineError) {
            self.init(
                .reader(try DocumentReader(reader)), options, log, isStrict: isStrict)
        } catch {
            throw StoreError(error)
        }
    }

    private init(
        _ source: DocumentSource, _ options: LogStoreOptions, _ log: StoreLog?, isStrict: Bool
    ) {
        self.source = source
        self.options = options
        self.log = log
        pastStates = PastStates(options.clock)
        requests = RequestLog(options.clock)
        sharedParameters = Mutex(
            SharedParameters(
                SystemParameters(isStrict: isStrict), requests, registeredCollections, statements,
                clock: options.clock))
    }

    /// Reads the catalog of a store that is open for writing, and repairs its index entries.
    ///
    /// A received commit with more than `maximumListed` new documents is omitted from the feed of
    /// peers.
    package convenience init(
        opening store: StoreEngine, log: StoreLog? = nil, maximumListed: Int = 4_096,
        isStrict: Bool = false
    ) throws(StoreError) {
        do throws(EngineError) {
            self.init(
                try DocumentEngine(store, maximumListed: maximumListed), log: log,
                isStrict: isStrict)
        } catch {
            throw StoreError(error)
        }
    }

    /// Releases the columns and the cached earlier states.
    package func releaseMemory() {
        columns.removeAll()
        pastStates.removeAll()
    }

    /// The document engine; calling this for a read-only store is a bug.
    package var documents: DocumentEngine {
        guard case .engine(let engine) = source else {
            preconditionFailure("A read-only store has no document engine.")
        }
        return engine
    }

    /// Returns the newest durable snapshot.
    package func snapshot() -> DocumentSnapshot { source.snapshot() }

    package var parameters: SharedParameters { sharedParameters.withLock { $0 } }

    /// Returns the parsed statement of a query, cached by its text.
    package func statement(_ query: DQL) throws(StoreError) -> Statement {
        let statement: Statement
        if let known = statements.cache.withLock({ $0.find(query.text) }) {
            statement = known
        } else {
            statement = try parse(query)
            statements.cache.withLock { $0.insert(statement) }
        }
        try statement.check(query.interpolations)
        return statement
    }

    /// Returns the parsed statement of a query, and the values of its parameters.
    package func prepare(
        _ query: DQL, _ arguments: QueryArguments
    ) throws(StoreError) -> (Statement, ArgumentValues) {
        (try statement(query), try query.bind(arguments))
    }

    private func parse(_ query: DQL) throws(StoreError) -> Statement {
        requests.countParsing()
        do throws(StoreError) { return try Parser.parse(query.text) } catch {
            // An interpolation between quotes is a better explanation than the syntax error.
            throw InsertedPiece.misplacement(of: query.interpolations, in: query.text) ?? error
        }
    }

    /// Counts an observer whose callback has thrown, or whose statement has failed.
    package func countObserverFailure() {
        requests.countObserverFailure()
    }

    /// Returns the plan of a statement as readable text.
    package func planText(
        _ statement: Statement, _ arguments: ArgumentValues = ArgumentValues()
    ) throws(StoreError) -> String {
        try statement.checkDirectives()
        return try makeRun(statement, arguments).planText()
    }

    /// Returns a reader of the newest durable snapshot.
    package func reader() -> SnapshotReader { reader(parameters) }

    /// Returns a reader of the newest durable snapshot, for statements with given parameters.
    package func reader(_ parameters: SharedParameters) -> SnapshotReader {
        reader(of: source.snapshot(), parameters)
    }

    /// Returns a reader of a transaction, which sees all earlier commits, durable or not.
    package func reader(of transaction: DocumentTransaction) -> SnapshotReader {
        transaction.reader(parameters.collections, pastStates, storeNumber: number)
    }

    /// Returns a reader of a durable snapshot.
    package func reader(
        of snapshot: DocumentSnapshot, _ parameters: SharedParameters
    ) -> SnapshotReader {
        SnapshotReader(
            snapshot, virtual: parameters.collections, pastStates: pastStates,
            planState: PlanState(of: snapshot, storeNumber: number), storeNumber: number,
            columns: columns)
    }

    /// Creates a run of a statement on the newest durable snapshot.
    package func makeRun(
        _ statement: Statement, _ arguments: ArgumentValues = ArgumentValues()
    ) -> QueryRun {
        let parameters = parameters
        return makeRun(statement, arguments, parameters, on: reader(parameters))
    }

    /// Creates a run of a statement on a snapshot, with the statement timeout if `isTimed`.
    package func makeRun(
        _ statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters,
        on reader: SnapshotReader, isTimed: Bool = true, meter: EvaluationMeter? = nil
    ) -> QueryRun {
        var options = QueryOptions(
            arguments: arguments, parameters: parameters.values, options: self.options)
        options.meter = meter
        if let meter {
            let interruption = Interruption(meter)
            (options.interruption, reader.interruption) = (interruption, interruption)
        }
        guard isTimed else { return QueryRun(statement, on: reader, options) }
        let interruption = Interruption(
            seconds: parameters.values.timeoutSeconds,
            clock: self.options.clock.monotonicNanoseconds)
        options.interruption = interruption
        reader.interruption = interruption
        return QueryRun(statement, on: reader, options)
    }
}
