import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafQuery
package import SheafStorage
import SheafSystem
import Synchronization

/// The executor of statements against the documents of a store.
package final class QueryEngine: Sendable {
    package let source: DocumentSource
    private let statements = SharedStatements()
    let sharedParameters: Mutex<SharedParameters>
    let requests: RequestLog
    /// The system collections that other layers provide.
    package let registeredCollections = RegisteredCollections()
    package let options: LogStoreOptions
    /// A number that is unique among the engines of the process.
    package let number = QueryEngine.count.add(1, ordering: .relaxed).newValue

    private static let count = Atomic<UInt64>(0)

    /// The destination of log messages; nil discards them.
    package let log: StoreLog?

    package convenience init(
        _ documents: DocumentEngine, log: StoreLog? = nil, isStrict: Bool = false
    ) {
        self.init(.engine(documents), documents.store.options, log, isStrict: isStrict)
    }

    /// Creates the engine of a read-only store, which refuses statements that write.
    package convenience init(
        reading reader: LogReader, options: LogStoreOptions = LogStoreOptions(),
        log: StoreLog? = nil, isStrict: Bool = false
    ) throws(QueryError) {
        do throws(EngineError) {
            self.init(try DocumentSource(reading: reader), options, log, isStrict: isStrict)
        } catch {
            throw QueryError(error)
        }
    }

    private init(
        _ source: DocumentSource, _ options: LogStoreOptions, _ log: StoreLog?, isStrict: Bool
    ) {
        self.source = source
        self.options = options
        self.log = log
        requests = RequestLog(options.clock)
        sharedParameters = Mutex(
            SharedParameters(
                SystemParameters(isStrict: isStrict), requests, registeredCollections, statements,
                clock: options.clock))
    }

    /// Reads the catalog of a store that is open for writing, and repairs its index entries.
    ///
    /// A received commit with more than `mostTold` new documents is omitted from the feed of peers.
    package convenience init(
        opening store: StoreEngine, log: StoreLog? = nil, maximumListed: Int = 4_096,
        isStrict: Bool = false
    ) throws(QueryError) {
        do throws(EngineError) {
            self.init(
                try DocumentEngine(store, maximumListed: maximumListed), log: log,
                isStrict: isStrict)
        } catch {
            throw QueryError(error)
        }
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
    package func statement(_ query: Query) throws(QueryError) -> Statement {
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

    private func parse(_ query: Query) throws(QueryError) -> Statement {
        requests.countParsing()
        do throws(QueryError) { return try Parser.parse(query.text) } catch {
            // An interpolation between quotes is a better explanation than the syntax error.
            throw InsertedPiece.misplacement(of: query.interpolations, in: query.text) ?? error
        }
    }

    /// Counts an observer whose callback has thrown, or whose statement has failed.
    package func countObserverFailure() {
        requests.countObserverFailure()
    }

    /// Runs a statement as its own transaction.
    package func execute(
        _ query: Query, _ arguments: QueryArguments, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        try execute(try statement(query), try query.bind(arguments), sink)
    }

    /// Runs a parsed statement as its own transaction.
    package func execute(
        _ statement: Statement, _ arguments: ArgumentValues = ArgumentValues(),
        _ sink: CommitSink = .refusing
    ) throws(QueryError) -> QueryOutcome {
        try recordingRequest(statement) { () throws(QueryError) in
            try run(statement, arguments, sink)
        }
    }

    /// Runs `body` for a statement, and records its outcome in the request log.
    func recordingRequest(
        _ statement: Statement, _ body: () throws(QueryError) -> QueryOutcome
    ) throws(QueryError) -> QueryOutcome {
        let number = requests.begin(statement)
        do throws(QueryError) {
            try statement.checkDirectives()
            let outcome = try body()
            end(statement, number, outcome.rows.items.count, outcome.mutatedIDs.count, nil)
            logSize(of: outcome.largeDocuments)
            for note in outcome.rows.notes {
                let text = RedactedText.of(statement.text)
                    .shortened(to: ErrorText.loggedStatementLimit)
                log?.write(.warning, note, ["statement": text])
            }
            return outcome
        } catch {
            let snapshot = source.snapshot()
            let error = error.orIndexFailure(of: snapshot, source.indexFailure)
                .located(in: snapshot.log.segments)
            end(statement, number, 0, 0, error.message)
            throw error
        }
    }

    private func end(
        _ statement: Statement, _ number: UInt64, _ rows: Int, _ mutations: Int, _ error: String?
    ) {
        let parameters = parameters.values
        let nanoseconds = requests.end(
            number, rows: rows, mutations: mutations, error: error,
            keeping: parameters.requestHistorySize)
        warnIfSlow(of: statement, nanoseconds, rows: rows, parameters)
    }

    /// Logs a statement that took longer than the parameter for slow statements allows.
    func warnIfSlow(
        of statement: Statement, _ nanoseconds: UInt64, rows: Int, _ parameters: SystemParameters
    ) {
        guard let log, parameters.slowRequestSeconds > 0,
            nanoseconds / 1_000_000_000 >= parameters.slowRequestSeconds
        else { return }
        log.write(
            .warning, "a statement took \(nanoseconds / 1_000_000) ms",
            [
                "statement": RedactedText.of(statement.text)
                    .shortened(to: ErrorText.loggedStatementLimit),
                "rows": "\(rows)",
            ])
    }

    private func run(
        _ statement: Statement, _ arguments: ArgumentValues, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        if case .readOnly = source, !statement.kind.isAllowedReadOnly {
            throw QueryError(.failed, "\(StorageError.readOnly)")
        }
        switch statement.kind {
        case .reading: return try read(statement, arguments, on: reader(parameters))
        case .writing: return try write(statement, arguments, sink)
        case .createIndex(let index): return try create(index, in: statement.text, sink)
        case .dropIndex(let index): return try drop(index, in: statement.text, sink)
        case .advising(let isProvisioning):
            return try advise(statement, arguments, isProvisioning: isProvisioning, sink)
        case .system: return try configure(statement, arguments)
        }
    }

    /// Returns the plan of a statement as readable text.
    package func planText(
        _ query: Query, _ arguments: QueryArguments = QueryArguments()
    ) throws(QueryError) -> String {
        try planText(try statement(query), try query.bind(arguments))
    }

    /// Returns the plan of a parsed statement as readable text.
    package func planText(
        _ statement: Statement, _ arguments: ArgumentValues
    ) throws(QueryError) -> String {
        try statement.checkDirectives()
        let parameters = parameters
        return try run(statement, arguments, parameters, on: reader(parameters)).planText()
    }

    /// Plans a reading statement, and discards the plan.
    package func prepare(_ statement: Statement) throws(QueryError) {
        let parameters = parameters
        try run(statement, ArgumentValues(), parameters, on: reader(parameters)).prepare()
    }

    /// Returns a reader of the newest durable snapshot.
    package func reader(_ parameters: SharedParameters) -> SnapshotReader {
        reader(of: source.snapshot(), parameters)
    }

    /// Returns a reader of a durable snapshot.
    package func reader(
        of snapshot: DocumentSnapshot, _ parameters: SharedParameters
    ) -> SnapshotReader {
        let state = PlanState(
            store: number, commit: snapshot.log.commit, nameCount: snapshot.names.count,
            hasIndexes: snapshot.log.indexMark.commit == snapshot.log.commit)
        return SnapshotReader(
            snapshot, virtual: parameters.collections, planState: state, storeNumber: number)
    }

    /// Returns a run of a statement on the newest durable snapshot.
    package func run(_ statement: Statement, _ arguments: ArgumentValues) -> QueryRun {
        let parameters = parameters
        return run(statement, arguments, parameters, on: reader(parameters))
    }

    /// Returns a run of a statement on a snapshot, with the statement timeout if `isTimed`.
    package func run(
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

    /// Runs a reading statement on a snapshot.
    package func read(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader
    ) throws(QueryError) -> QueryOutcome {
        let parameters = parameters
        let rows: QueryRows
        if parameters.haveNoEffect(on: statement),
            let found = try statement.shortcut?.rows(arguments, on: reader)
        {
            rows = found
        } else {
            rows = try run(statement, arguments, parameters, on: reader).rows()
        }
        return QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
    }

    // MARK: Writing

    private func write(
        _ statement: Statement, _ arguments: ArgumentValues, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        let parameters = parameters
        var failure: QueryError?
        do throws(EngineError) {
            let (commit, outcome) = try documents.write(from: nil, append: sink.append) {
                (transaction) throws(EngineError) in
                do throws(QueryError) {
                    return try change(statement, arguments, parameters, in: &transaction)
                } catch {
                    failure = error
                    throw .rolledBack
                }
            }
            return outcome.with(commit)
        } catch {
            throw failure ?? QueryError(error)
        }
    }

    /// Applies a writing statement to a transaction.
    func change(
        _ statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters,
        in transaction: inout DocumentTransaction
    ) throws(QueryError) -> QueryOutcome {
        transaction.maximumLength = parameters.values.hardSizeLimit
        transaction.keepsCounters = true
        if log != nil { transaction.largeDocumentLength = parameters.values.softSizeLimit }
        transaction.largeDocuments = []
        let reader = transaction.reader(parameters.collections, storeNumber: number)
        let (plan, run) = try plan(statement, arguments, parameters, on: reader)
        // The plan is complete and no longer reads pending documents.
        reader.releasePending()
        var ids: [Value] = []
        ids.reserveCapacity(plan.mutations.count)
        var returned: [Object] = plan.older
        for (number, mutation) in plan.mutations.enumerated() {
            if number & 0xFF == 0xFF { try reader.interruption?.check() }
            guard try Self.change(&transaction, mutation, in: statement.text) else { continue }
            ids.append(mutation.id)
            guard plan.returnsRows, !plan.returnsOlderDocuments else { continue }
            if let object = try transaction.object(mutation, plan.types) {
                returned.append(object)
            }
        }
        let rows = try run?.returned(returned, by: plan, changing: ids.count)
        return QueryOutcome(
            rows: rows ?? QueryRows(), reader: reader, mutatedIDs: ids, commit: nil,
            largeDocuments: transaction.largeDocuments)
    }

    /// Logs documents that exceed the soft size limit.
    ///
    /// The writer lock has been released by then, so a slow log does not block writers.
    private func logSize(of documents: [LargeDocument]) {
        for document in documents {
            log?.write(
                .warning,
                "a document has \(document.length) bytes, more than "
                    + "document_size_soft_limit_bytes, which is \(document.limit)",
                ["collection": document.collection.shortened, "id": document.id.json.shortened])
        }
    }

    /// Applies the mutation of one document; locates its error in the statement.
    private static func change(
        _ transaction: inout DocumentTransaction, _ mutation: Mutation, in text: String
    ) throws(QueryError) -> Bool {
        do throws(QueryError) { return try transaction.apply(mutation) } catch {
            throw error.located(at: mutation.range, in: text)
        }
    }

    /// Returns the mutations of a statement, and the run that computes its returned rows, if any.
    private func plan(
        _ statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters,
        on reader: SnapshotReader
    ) throws(QueryError) -> (MutationPlan, QueryRun?) {
        let random = options.random
        if parameters.haveNoEffect(on: statement),
            let plan = try statement.shortcut?.mutations(
                arguments, newID: { RandomID.make(random) })
        {
            guard plan.returnsRows else { return (plan, nil) }
            return (plan, run(statement, arguments, parameters, on: reader))
        }
        let run = run(statement, arguments, parameters, on: reader)
        return (try run.mutations(), run)
    }
}
