import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery
import SheafStorage

/// The path of all statements: the fast path of point lookups, then one switch over the kind.
extension QueryEngine {
    /// Runs a statement as its own transaction, which reads the newest durable snapshot.
    ///
    /// Without a sink, statements that write are refused.
    package func execute(
        _ statement: Statement, _ arguments: ArgumentValues = ArgumentValues(),
        _ sink: CommitSink? = nil
    ) throws(StoreError) -> ResultStorage {
        if statement.isWriting, let sink, let written = writePoint(statement, arguments, sink) {
            return written
        }
        var context = OwnTransaction(sink: sink)
        return try execute(statement, arguments, in: &context, nil)
    }

    /// Runs a statement that reads, which ends after `limit` rows.
    package func execute(
        _ statement: Statement, _ arguments: ArgumentValues, upTo limit: Int
    ) throws(StoreError) -> ResultStorage {
        let parameters = parameters
        let outcome = try recordingRequest(statement) { () throws(StoreError) in
            let reader = reader(parameters)
            let run = makeRun(statement, arguments, parameters, on: reader)
            return QueryOutcome(rows: try run.rows(upTo: limit), reader: reader)
        }
        return ResultStorage(outcome, nil)
    }

    /// Runs a statement of a read-only transaction, on its snapshot.
    package func execute(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot,
        _ commitCell: CommitCell
    ) throws(StoreError) -> ResultStorage {
        var context = snapshot
        return try execute(statement, arguments, in: &context, commitCell)
    }

    /// Runs a statement of a write transaction; a statement that fails changes nothing.
    package func execute(
        _ statement: Statement, _ arguments: ArgumentValues,
        in transaction: inout DocumentTransaction, _ commitCell: CommitCell
    ) throws(StoreError) -> ResultStorage {
        if let written = writePoint(statement, arguments, in: &transaction, commitCell) {
            return written
        }
        return try execute(statement, arguments, in: &transaction, Optional(commitCell))
    }

    /// Runs an inserting statement once for each of several arguments, as one statement.
    ///
    /// `next` returns the arguments of the next run, or nil after the last one. An error discards
    /// the changes of all runs. Returns the ids of the written documents.
    package func execute(
        _ statement: Statement, in transaction: inout DocumentTransaction,
        forEach next: () throws(StoreError) -> ArgumentValues?
    ) throws(StoreError) -> [Value] {
        let parameters = parameters
        return try recordingRequest(statement) { () throws(StoreError) in
            try transaction.write(self) { (transaction) throws(StoreError) in
                var outcome = QueryOutcome(
                    rows: QueryRows(), reader: reader(of: transaction))
                outcome.reader.releasePending()
                while let arguments = try next() {
                    if let id = try insertUnstamped(
                        by: statement, arguments, parameters, after: outcome.mutatedIDs,
                        in: &transaction)
                    {
                        outcome.mutatedIDs.append(id)
                        outcome.largeDocuments += transaction.largeDocuments
                        continue
                    }
                    assignNumbers(insertedBy: statement, arguments)
                    transaction.catalog.adoptNames(of: documents.newestCatalog)
                    let more = try change(statement, arguments, parameters, in: &transaction)
                    outcome.mutatedIDs += more.mutatedIDs
                    outcome.largeDocuments += more.largeDocuments
                }
                return outcome
            }
        }.mutatedIDs
    }

    /// Runs a statement in a context; `commitCell` is nil if the statement is its own transaction.
    @inline(__always)
    private func execute<Context: StatementContext>(
        _ statement: Statement, _ arguments: ArgumentValues, in context: inout Context,
        _ commitCell: CommitCell?
    ) throws(StoreError) -> ResultStorage {
        if let found = lookUp(statement, arguments, in: &context, commitCell) { return found }
        if let lookup = statement.pastLookup,
            let found = lookUp(lookup, statement, arguments, in: context, commitCell)
        {
            return found
        }
        let outcome = try recordingRequest(statement) { () throws(StoreError) in
            try run(statement, arguments, in: &context, isTransaction: commitCell != nil)
        }
        return ResultStorage(outcome, commitCell)
    }

    private func run<Context: StatementContext>(
        _ statement: Statement, _ arguments: ArgumentValues, in context: inout Context,
        isTransaction: Bool
    ) throws(StoreError) -> QueryOutcome {
        let parameters = parameters
        switch statement.kind {
        case .reading:
            let reader = context.reader(self, parameters)
            let run = makeRun(statement, arguments, parameters, on: reader)
            return QueryOutcome(
                rows: try run.rows(), reader: reader,
                pendingCollections: reader.pending.collections)
        case .writing:
            assignNumbers(insertedBy: statement, arguments)
            return try context.write(self) { (transaction) throws(StoreError) in
                try change(statement, arguments, parameters, in: &transaction)
            }
        case .createIndex(let index):
            let sink = try sink(of: context, isTransaction: isTransaction)
            return try create(index, in: statement.text, sink)
        case .dropIndex(let index):
            let sink = try sink(of: context, isTransaction: isTransaction)
            return try drop(index, in: statement.text, sink)
        case .advising:
            return try advise(statement, arguments, on: context.reader(self, parameters))
        case .provisioning:
            let sink = try sink(of: context, isTransaction: isTransaction)
            return try provision(statement, arguments, on: context.reader(self, parameters), sink)
        case .configuring where isTransaction:
            throw StoreError(
                .meaning, "system parameters cannot be set within a transaction",
                hint: "run the statement outside of a transaction, with Store.execute")
        case .showing, .configuring:
            return try configure(statement, arguments, on: context.reader(self, parameters))
        }
    }

    /// Returns the destination of changed indexes; throws within a transaction.
    private func sink(
        of context: some StatementContext, isTransaction: Bool
    ) throws(StoreError) -> CommitSink {
        guard !isTransaction else {
            throw StoreError(
                .meaning, "indexes cannot be created or dropped within a transaction",
                hint: "run the statement outside of a transaction, with Store.execute")
        }
        return try context.sink(self)
    }

    /// Runs `body` for a statement, and records its outcome in the request log.
    private func recordingRequest(
        _ statement: Statement, _ body: () throws(StoreError) -> QueryOutcome
    ) throws(StoreError) -> QueryOutcome {
        defer { pastStates.dropUnused() }
        let number = requests.begin(statement)
        do throws(StoreError) {
            try statement.checkDirectives()
            let outcome = try body()
            end(statement, number, outcome.rows.count, outcome.mutatedIDs.count, nil)
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

    /// Records a point lookup or a point write in the request log.
    func record(
        _ statement: Statement, from start: UInt64, rows: Int = 0, mutations: Int = 0,
        _ parameters: SharedParameters
    ) {
        let nanoseconds = requests.record(
            statement, from: start, rows: rows, mutations: mutations,
            keeping: parameters.values.requestHistorySize)
        if nanoseconds >= 1_000_000_000 {
            warnIfSlow(of: statement, nanoseconds, rows: rows, parameters.values)
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
    private func warnIfSlow(
        of statement: Statement, _ nanoseconds: UInt64, rows: Int, _ parameters: SystemParameters
    ) {
        // The parameter has whole seconds.
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

    /// Logs documents that exceed the soft size limit.
    ///
    /// Outside of a write transaction, the writer lock has been released by then, so a slow log
    /// does not block writers.
    func logSize(of documents: [LargeDocument]) {
        for document in documents {
            log?.write(
                .warning,
                "a document has \(document.length) bytes, more than "
                    + "document_size_soft_limit_bytes, which is \(document.limit)",
                ["collection": document.collection.shortened, "id": document.id.json.shortened])
        }
    }
}
