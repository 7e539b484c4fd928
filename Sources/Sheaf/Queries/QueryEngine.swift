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
}

/// How what is written gets to the log.
package struct CommitSink {
    /// Gives a batch to the log.
    package let append: (WriteBatch) throws(StorageError) -> CommitID
    /// Makes durable what was appended before.
    package let flush: () throws(StorageError) -> Void

    package init(
        append: @escaping (WriteBatch) throws(StorageError) -> CommitID,
        flush: @escaping () throws(StorageError) -> Void
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
    private let number = QueryEngine.count.add(1, ordering: .relaxed).newValue

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
    private func statement(_ query: Query) throws(QueryError) -> Statement {
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
        let number = requests.begin(
            statement.text, wallMilliseconds: options.clock.wallMilliseconds(),
            nanoseconds: options.clock.monotonicNanoseconds())
        do throws(QueryError) {
            let outcome = try run(statement, arguments, sink)
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

    private func reader() -> SnapshotReader {
        let snapshot = documents.snapshot()
        let state = PlanState(
            store: number, commit: snapshot.log.commit, nameCount: snapshot.names.count,
            hasIndexes: snapshot.log.linked.commit == snapshot.log.commit)
        return SnapshotReader(
            snapshot, virtual: virtual(parameters.withLock { $0 }), planState: state)
    }

    private func virtual(_ parameters: SystemParameters) -> SystemCollections {
        SystemCollections(parameters, requests, clock: options.clock)
    }

    private func run(
        _ statement: Statement, _ arguments: [String: Value], on reader: SnapshotReader
    ) -> QueryRun {
        let parameters = parameters.withLock { $0 }
        return QueryRun(
            statement, on: reader,
            QueryOptions(arguments: arguments, parameters: parameters, options: options))
    }

    private func read(
        _ statement: Statement, _ arguments: [String: Value]
    ) throws(QueryError) -> QueryOutcome {
        let reader = reader()
        let rows = try run(statement, arguments, on: reader).rows()
        return QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
    }

    // MARK: Writing

    private func write(
        _ statement: Statement, _ arguments: [String: Value], _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        let parameters = parameters.withLock { $0 }
        let virtual = virtual(parameters)
        do throws(WriteError) {
            let (commit, outcome) = try documents.write(from: nil, append: sink.append) {
                (transaction) throws(WriteError) in
                transaction.maximumLength = parameters.hardSizeLimit
                let reader = transaction.reader(virtual)
                let run = run(statement, arguments, on: reader)
                return try Self.change(&transaction, run, reader)
            }
            return QueryOutcome(
                rows: outcome.rows, reader: outcome.reader, mutatedIDs: outcome.ids,
                commit: commit)
        } catch {
            throw error.query
        }
    }

    private struct Change {
        let rows: QueryRows
        let reader: SnapshotReader
        let ids: [Value]
    }

    private static func change(
        _ transaction: inout DocumentTransaction, _ run: QueryRun, _ reader: SnapshotReader
    ) throws(WriteError) -> Change {
        do throws(QueryError) {
            let plan = try run.mutations()
            var ids: [Value] = []
            var returned: [Object] = plan.older
            for mutation in plan.mutations {
                guard try change(&transaction, mutation, run) else { continue }
                ids.append(mutation.id)
                guard plan.returnsRows, !plan.returnsOlderDocuments else { continue }
                if let object = try transaction.object(mutation, plan.types) {
                    returned.append(object)
                }
            }
            let rows = try run.returned(returned, by: plan, changing: ids.count)
            return Change(rows: rows, reader: reader, ids: ids)
        } catch {
            throw .query(error)
        }
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
