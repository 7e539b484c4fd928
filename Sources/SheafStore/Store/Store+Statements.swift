import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
public import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

extension Store {
    /// Runs a statement as its own transaction.
    ///
    ///     let result = try await store.execute(
    ///         "SELECT * FROM cars WHERE color = :color", ["color": "blue"])
    ///     try await store.execute("UPDATE cars SET color = \(color) WHERE _id = \(id)")
    ///
    /// A reading statement runs immediately. A writing statement waits for earlier writers, and
    /// returns when its commit has reached the store's durability. The cancellation of the task
    /// ends the wait and the statement, which then changes nothing. It does not end the wait for
    /// durability: an error would claim that a commit is lost that may survive.
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func execute(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) async throws -> QueryResult {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        let (statement, values) = try prepare(query, arguments)
        do {
            guard statement.isWriting else { return try read(statement, values) }
            if case .writing = statement.kind { return try await write(statement, values) }
            return try await changeIndexes(statement, values)
        } catch let error as StoreError where error.reason == .cancelled {
            throw CancellationError()
        }
    }

    /// Runs a statement; one that reads ends after `limit` rows.
    package nonisolated(nonsending) func execute(
        _ query: DQL, _ arguments: QueryArguments, upTo limit: Int
    ) async throws -> QueryResult {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        let (statement, values) = try prepare(query, arguments)
        guard case .reading = statement.kind else { return try await execute(query, arguments) }
        do throws(StoreError) {
            return QueryResult(
                try queries.execute(statement, values, upTo: limit), of: statement, values, queries)
        } catch {
            guard error.reason == .cancelled else { throw error }
            throw CancellationError()
        }
    }

    /// Whether a query parses as a statement that changes neither documents nor indexes.
    package func isReading(_ query: DQL) -> Bool {
        (try? !queries.statement(query).isWriting) ?? false
    }

    private func prepare(
        _ query: DQL, _ arguments: QueryArguments
    ) throws(StoreError) -> (Statement, ArgumentValues) {
        try queries.prepare(query, arguments)
    }

    private func read(
        _ statement: Statement, _ values: ArgumentValues
    ) throws(StoreError) -> QueryResult {
        let result = try queries.execute(statement, values)
        // Changed parameters may change the meaning of observed statements.
        if case .configuring = statement.kind { dispatcher.wakeDispatcher() }
        return QueryResult(result, of: statement, values, queries)
    }

    private nonisolated(nonsending) func write(
        _ statement: Statement, _ values: ArgumentValues
    ) async throws -> QueryResult {
        try checkNesting { "the statement \"\(statement.text.shortened)\"" }
        if !statement.isBrief(values) {
            try await enter("the statement \"\(statement.text.shortened)\"")
        } else if let served = try await enter(orServe: statement, values) {
            collectGarbageIfDue()
            return served
        }
        let written = try writeInTurn(statement, values)
        if let commit = written.commitID { try await waitForDurability(of: CommitID(commit)) }
        collectGarbageIfDue()
        return written
    }

    /// Runs a writing statement whose caller holds the gate, then leaves the gate.
    private func writeInTurn(
        _ statement: Statement, _ values: ArgumentValues
    ) throws(StoreError) -> QueryResult {
        defer { leave() }
        return try change(statement, values)
    }

    private func change(
        _ statement: Statement, _ values: ArgumentValues, until stop: EvaluationStop? = nil
    ) throws(StoreError) -> QueryResult {
        var sink = try sink
        sink.stop = stop
        return QueryResult(
            try queries.execute(statement, values, sink), of: statement, values, queries)
    }

    /// Runs the statement of a waiting writer; returns false if the writer must run it itself.
    ///
    /// `end` is called when the commit has reached the store's durability.
    func serve(
        _ statement: Statement, _ values: ArgumentValues,
        _ end: @escaping @Sendable (Result<QueryResult, StoreError>) -> Void
    ) -> Bool {
        do throws(StoreError) {
            let log = try log
            let result = try change(statement, values)
            guard let commit = result.commitID else {
                end(.success(result))
                return true
            }
            log.whenDurable(CommitID(commit)) { durable in
                end(durable.map { _ in result }.mapError { StoreError($0) })
            }
        } catch {
            // The canceled task may be the one that runs the statement, not the one that waits.
            guard error.reason != .cancelled else { return false }
            end(.failure(error))
        }
        return true
    }

    /// Creates or drops indexes on a separate thread, because index builds wait for the disk.
    private nonisolated(nonsending) func changeIndexes(
        _ statement: Statement, _ values: ArgumentValues
    ) async throws -> QueryResult {
        let what = "the statement \"\(statement.text.shortened)\""
        try checkNesting { what }
        try await enter(what)
        let written = try await changeIndexesInTurn(statement, values)
        guard let commit = written.commitID else { return written }
        try await waitForDurability(of: CommitID(commit))
        return written
    }

    /// Creates or drops indexes; the caller holds the gate, which is left even if no thread starts.
    private nonisolated(nonsending) func changeIndexesInTurn(
        _ statement: Statement, _ values: ArgumentValues
    ) async throws -> QueryResult {
        defer { leave() }
        return try await Self.runOnThread(cancellably: "sheaf-index") {
            (stop) throws(StoreError) in
            try self.change(statement, values, until: stop)
        }
    }

    /// Waits until a commit has reached the store's durability.
    nonisolated(nonsending) func waitForDurability(of commit: CommitID) async throws {
        let log = try log
        do throws(StorageError) {
            try await log.waitForDurability(of: commit)
        } catch {
            throw StoreError(error)
        }
    }

    private var sink: CommitSink {
        get throws(StoreError) { Self.sink(try log) }
    }

    private static func sink(_ log: LogStore) -> CommitSink {
        CommitSink(
            append: { (batch) throws(StorageError) in try log.append(batch) },
            flush: { () throws(StorageError) in try log.flush() })
    }
}
