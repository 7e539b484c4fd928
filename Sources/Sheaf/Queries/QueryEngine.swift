package import SheafDocument
package import SheafQuery
package import SheafStorage
import Synchronization

/// What a statement came to.
package struct QueryOutcome {
    package let rows: QueryRows
    /// What the rows are made of, which is valid as long as this.
    package let reader: SnapshotReader
    /// The ids of the documents that were written.
    package let mutatedIDs: [Value]
    /// The commit that has the changes, or the newest there is; none for what only reads.
    package let commit: CommitID?

    /// The same, with the commit that has the changes.
    func with(_ commit: CommitID) -> QueryOutcome {
        QueryOutcome(rows: rows, reader: reader, mutatedIDs: mutatedIDs, commit: commit)
    }
}

/// How what is written gets to the log.
package struct CommitSink: Sendable {
    /// Gives a batch to the log.
    package let append: @Sendable (WriteBatch) throws(StorageError) -> CommitID
    /// Makes durable what was appended before.
    package let flush: @Sendable () throws(StorageError) -> Void

    package init(
        append: @escaping @Sendable (WriteBatch) throws(StorageError) -> CommitID,
        flush: @escaping @Sendable () throws(StorageError) -> Void
    ) {
        self.append = append
        self.flush = flush
    }
}

/// Runs statements against the documents of a store.
package final class QueryEngine: Sendable {
    package let documents: DocumentEngine
    private let statements = Mutex(StatementCache())
    private let parameters = Mutex(SystemParameters())
    private let requests = RequestLog()
    private let options: LogStoreOptions
    /// What tells it from other engines.
    let number = QueryEngine.count.add(1, ordering: .relaxed).newValue

    private static let count = Atomic<UInt64>(0)

    package init(_ documents: DocumentEngine) {
        self.documents = documents
        options = documents.store.options
    }

    /// Reads what the log of a store knows of names, and makes its indexes right.
    package convenience init(opening store: StoreEngine) throws(QueryError) {
        do throws(EngineError) {
            self.init(try DocumentEngine(store))
        } catch {
            throw QueryError(error)
        }
    }

    /// The statement of a query; parsed once, if its text comes often.
    package func statement(_ query: Query) throws(QueryError) -> Statement {
        let statement: Statement
        if let known = statements.withLock({ $0.find(query.text) }) {
            statement = known
        } else {
            statement = try parse(query)
            statements.withLock { $0.insert(statement) }
        }
        try statement.check(query.pieces)
        return statement
    }

    private func parse(_ query: Query) throws(QueryError) -> Statement {
        requests.noteParsing()
        do throws(QueryError) { return try Parser.parse(query.text) } catch {
            // What a value between quotes does to the text is seldom what is wrong with it.
            throw InsertedPiece.misplacement(of: query.pieces, in: query.text) ?? error
        }
    }

    /// Runs a statement as a transaction of its own.
    package func execute(
        _ query: Query, _ arguments: QueryArguments, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        try execute(try statement(query), try query.bind(arguments), sink)
    }

    /// Runs a statement that was parsed before.
    package func execute(
        _ statement: Statement, _ arguments: [String: Value] = [:], _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        try noting(statement) { () throws(QueryError) in try run(statement, arguments, sink) }
    }

    /// Runs a statement, and notes in the log of requests what comes of it.
    func noting(
        _ statement: Statement, _ body: () throws(QueryError) -> QueryOutcome
    ) throws(QueryError) -> QueryOutcome {
        let number = requests.begin(
            statement.text, wallMilliseconds: options.clock.wallMilliseconds(),
            nanoseconds: options.clock.monotonicNanoseconds())
        do throws(QueryError) {
            let outcome = try body()
            end(number, outcome.rows.items.count, outcome.mutatedIDs.count, nil)
            return outcome
        } catch {
            let error = error.wantingIndexes(of: documents.snapshot(), documents.linkFailure)
            end(number, 0, 0, error.message)
            throw error
        }
    }

    private func end(_ number: UInt64, _ rows: Int, _ mutations: Int, _ error: String?) {
        requests.end(
            number, nanoseconds: options.clock.monotonicNanoseconds(), rows: rows,
            mutations: mutations, error: error,
            keeping: parameters.withLock { $0.requestHistorySize })
    }

    private func run(
        _ statement: Statement, _ arguments: [String: Value], _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        switch statement.kind {
        case .reading: return try read(statement, arguments)
        case .writing: return try write(statement, arguments, sink)
        case .createIndex(let index): return try create(index, in: statement.text, sink)
        case .dropIndex(let index): return try drop(index, in: statement.text, sink)
        case .advising(let isProvisioning):
            return try advise(statement, arguments, isProvisioning: isProvisioning, sink)
        case .system: return try configure(statement, arguments)
        }
    }

    /// The plan of a statement, as a tree for people.
    package func planText(
        _ query: Query, _ arguments: QueryArguments = QueryArguments()
    ) throws(QueryError) -> String {
        try run(try statement(query), try query.bind(arguments), on: reader()).planText()
    }

    /// Makes the plan of a statement that reads, and throws it away.
    package func prepare(_ statement: Statement) throws(QueryError) {
        try run(statement, [:], on: reader()).prepare()
    }

    func reader() -> SnapshotReader { reader(of: documents.snapshot()) }

    /// Shows a durable state to statements.
    func reader(of snapshot: DocumentSnapshot) -> SnapshotReader {
        let state = PlanState(
            store: number, commit: snapshot.log.commit, nameCount: snapshot.names.count,
            hasIndexes: snapshot.log.linked.commit == snapshot.log.commit)
        let reader = SnapshotReader(
            snapshot, virtual: virtual(parameters.withLock { $0 }), planState: state)
        reader.storeNumber = number
        return reader
    }

    func virtual(_ parameters: SystemParameters) -> SystemCollections {
        SystemCollections(parameters, requests, clock: options.clock)
    }

    func run(
        _ statement: Statement, _ arguments: [String: Value], on reader: SnapshotReader
    ) -> QueryRun {
        let parameters = currentParameters
        return QueryRun(
            statement, on: reader,
            QueryOptions(arguments: arguments, parameters: parameters, options: options))
    }

    /// What ALTER SYSTEM has set.
    var currentParameters: SystemParameters { parameters.withLock { $0 } }

    private func read(
        _ statement: Statement, _ arguments: [String: Value]
    ) throws(QueryError) -> QueryOutcome {
        try read(statement, arguments, on: reader())
    }

    /// Runs a statement that reads on a state.
    func read(
        _ statement: Statement, _ arguments: [String: Value], on reader: SnapshotReader
    ) throws(QueryError) -> QueryOutcome {
        let rows = try run(statement, arguments, on: reader).rows()
        return QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
    }

    // MARK: Writing

    private func write(
        _ statement: Statement, _ arguments: [String: Value], _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        do throws(WriteError) {
            let (commit, outcome) = try documents.write(from: nil, append: sink.append) {
                (transaction) throws(WriteError) in
                do throws(QueryError) {
                    return try change(statement, arguments, in: &transaction)
                } catch {
                    throw .query(error)
                }
            }
            return outcome.with(commit)
        } catch {
            throw error.query
        }
    }

    /// Does in a transaction what a statement that writes says.
    func change(
        _ statement: Statement, _ arguments: [String: Value],
        in transaction: inout DocumentTransaction
    ) throws(QueryError) -> QueryOutcome {
        let parameters = currentParameters
        transaction.maximumLength = parameters.hardSizeLimit
        let reader = transaction.reader(virtual(parameters))
        reader.storeNumber = number
        let run = run(statement, arguments, on: reader)
        let plan = try run.mutations()
        // All is known that is to be done.
        reader.forgetPending()
        var ids: [Value] = []
        var returned: [Object] = plan.older
        for mutation in plan.mutations {
            guard try Self.change(&transaction, mutation, run) else { continue }
            ids.append(mutation.id)
            guard plan.returnsRows, !plan.returnsOlderDocuments else { continue }
            if let object = try transaction.object(mutation, plan.types) {
                returned.append(object)
            }
        }
        let rows = try run.returned(returned, by: plan, changing: ids.count)
        return QueryOutcome(rows: rows, reader: reader, mutatedIDs: ids, commit: nil)
    }

    /// Does what a statement does with one document, and says where in it that fails.
    private static func change(
        _ transaction: inout DocumentTransaction, _ mutation: Mutation, _ run: QueryRun
    ) throws(QueryError) -> Bool {
        do throws(QueryError) { return try transaction.apply(mutation) } catch {
            throw error.located(at: mutation.range, in: run.text)
        }
    }

    // MARK: Indexes

    private func create(
        _ index: CreateIndex, in text: String, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        let collection = index.collection
        guard !collection.text.hasPrefix("system:"), !collection.text.hasPrefix("__") else {
            throw QueryError(
                .meaning, "\(collection.text) belongs to the system, and has no indexes",
                at: collection.range, in: text)
        }
        do throws(EngineError) {
            let receipt = try documents.createIndex(
                index.name.text, on: index.collection.text,
                index.fields.map {
                    IndexDefinition.Field($0.path.names, isDescending: $0.isDescending)
                }, ifNotExists: index.allowsExisting, flush: sink.flush, append: sink.append)
            return QueryOutcome(
                rows: QueryRows(), reader: reader(), mutatedIDs: [], commit: receipt.commit)
        } catch {
            throw QueryError(error).located(at: index.name.range, in: text)
        }
    }

    private func drop(
        _ index: DropIndex, in text: String, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        do throws(EngineError) {
            let receipt = try documents.dropIndex(
                index.name.text, on: index.collection.text, ifExists: index.allowsMissing,
                append: sink.append)
            return QueryOutcome(
                rows: QueryRows(), reader: reader(), mutatedIDs: [], commit: receipt.commit)
        } catch {
            throw QueryError(error).located(at: index.name.range, in: text)
        }
    }

    private func advise(
        _ statement: Statement, _ arguments: [String: Value], isProvisioning: Bool,
        _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        let reader = reader()
        try QueryError.check(documents.linkFailure, of: reader.snapshot)
        let advice = try run(statement, arguments, on: reader).advice()
        var commit: CommitID?
        if isProvisioning {
            for index in advice.indexes {
                commit = try create(index, in: statement.text, sink).commit
            }
        }
        return QueryOutcome(
            rows: advice.rows, reader: reader, mutatedIDs: [], commit: commit)
    }

    // MARK: Parameters

    private func configure(
        _ statement: Statement, _ arguments: [String: Value]
    ) throws(QueryError) -> QueryOutcome {
        let reader = reader()
        let change = try run(statement, arguments, on: reader).configuration()
        return try configure(change, in: statement, on: reader)
    }

    /// Sets parameters, or shows them.
    func configure(
        _ change: ConfigurationChange, in statement: Statement, on reader: SnapshotReader
    ) throws(QueryError) -> QueryOutcome {
        let row = try parameters.withLock { (parameters) throws(QueryError) in
            try parameters.apply(change, in: statement.text)
        }
        return QueryOutcome(
            rows: QueryRows(objects: [row]), reader: reader, mutatedIDs: [], commit: nil)
    }
}

/// What can go wrong between the beginning of a transaction and its commit.
enum WriteError: Error {
    case query(QueryError)
    case engine(EngineError)

    var query: QueryError {
        switch self {
        case .query(let error): error
        case .engine(let error): QueryError(error)
        }
    }
}
