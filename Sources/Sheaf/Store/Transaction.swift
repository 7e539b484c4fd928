import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import Synchronization

/// What a transaction ends with.
public enum TransactionCompletion: Hashable, Sendable {
    /// All of it is kept.
    case commit
    /// Nothing of it is kept.
    case rollback
}

/// What is known of a transaction.
public struct TransactionInfo: Hashable, Sendable {
    /// Tells it from all other transactions of the process.
    public let id: String
    /// What it is for, in messages.
    public let hint: String?
    public let isReadOnly: Bool

    package init(id: String, hint: String?, isReadOnly: Bool) {
        self.id = id
        self.hint = hint
        self.isReadOnly = isReadOnly
    }
}

/// Several statements on one state, which become one commit.
///
/// It is of use within the block that it was handed to. Statements see what those before them have
/// done. One that fails has done nothing, and the transaction goes on if the error is caught.
public final class Transaction: Sendable {
    public let info: TransactionInfo
    let store: Store
    /// The transaction in whose block this one began, be it of another store.
    let outer: Transaction?
    private let phase: Mutex<Phase>
    /// Kept outside of the phase, whose lock a running statement holds.
    private let hasEnded = Atomic(false)
    /// How a call within the block ended the transaction; nil if none did.
    let explicitEnding = Mutex<ExplicitEnding?>(nil)
    /// Whether the next writer was let in.
    let hasLeftGate = Atomic(false)
    /// The commit of what was done, once there is one.
    private let commitCell = CommitCell()

    /// No case of an enumeration has what is changed: it would be copied out and back by each statement.
    private struct Phase: Sendable {
        /// Of a transaction that writes and has not ended.
        var writing: DocumentTransaction?
        /// Of one that reads.
        var reading: DocumentSnapshot?
    }

    /// The transaction whose block runs in this task, or whose block has started it.
    @TaskLocal static var current: Transaction?

    /// Begins a transaction that writes; its caller holds the gate.
    init(writing store: Store, _ info: TransactionInfo) {
        self.store = store
        self.info = info
        outer = Self.current
        phase = Mutex(Phase(writing: store.queries.documents.begin()))
    }

    /// Begins a transaction that only reads.
    init(reading store: Store, _ info: TransactionInfo) {
        self.store = store
        self.info = info
        outer = Self.current
        phase = Mutex(Phase(reading: store.queries.snapshot()))
    }

    /// Runs a statement.
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func execute(
        _ query: Query, _ arguments: QueryArguments = QueryArguments()
    ) async throws -> QueryResult {
        try Task.checkCancellation()
        do throws(StoreError) {
            return try run(query, arguments)
        } catch  where error.reason == .cancelled {
            throw CancellationError()
        }
    }

    /// Runs a statement, without a moment in which anything else could run.
    func run(_ query: Query, _ arguments: QueryArguments) throws(StoreError) -> QueryResult {
        try phase.withLock { (phase) throws(StoreError) in
            if let outcome = try phase.writing?.execute(query, arguments, store.queries) {
                return QueryResult(outcome, commit: .of(commitCell))
            }
            if let snapshot = phase.reading { return try read(query, arguments, on: snapshot) }
            throw hasEndedError
        }
    }

    private func read(
        _ query: Query, _ arguments: QueryArguments, on snapshot: DocumentSnapshot
    ) throws(StoreError) -> QueryResult {
        let queries = store.queries
        let statement = try onStore { () throws(QueryError) in try queries.statement(query) }
        guard statement.kind.isAllowedReadOnly else {
            throw StoreError(
                .readOnly,
                "the transaction\(quotedHint) is read-only, and the statement would write",
                hint: "begin a transaction that is not read-only to change something")
        }
        let values = try onStore { () throws(QueryError) in try query.bind(arguments) }
        if let found = queries.lookUp(statement, values, on: snapshot, commit: commitCell) {
            return QueryResult(found)
        }
        let outcome = try onStore { () throws(QueryError) in
            try queries.execute(statement, values, on: snapshot)
        }
        return QueryResult(outcome, commit: .of(commitCell))
    }

    // MARK: Ending

    /// Ends the transaction; returns what it has done, if it was one that writes.
    private func end() -> DocumentTransaction? {
        phase.withLock { phase in
            defer { phase = Phase() }
            hasEnded.store(true, ordering: .releasing)
            if let snapshot = phase.reading { commitCell.set(snapshot.log.commit) }
            return phase.writing
        }
    }

    /// Gives what was done its place in the log; returns the commit that has it.
    func commit() throws(StoreError) -> CommitID? {
        let log = try store.log
        guard var transaction = end() else { return nil }
        do throws(EngineError) {
            return try store.queries.documents.commit(&transaction) {
                (batch) throws(StorageError) in try log.append(batch)
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Lets results know the commit, which is durable.
    func note(_ commit: CommitID) {
        commitCell.set(commit)
    }

    /// Takes back what was done.
    func rollBack() {
        guard var transaction = end() else { return }
        store.queries.documents.rollBack(&transaction)
    }

    /// Whether statements can still be run in it.
    var isOpen: Bool { !hasEnded.load(ordering: .acquiring) }

    /// The hint in quotes, behind a space; nothing where there is none.
    var quotedHint: String { info.hint.map { " \"\($0.shortened)\"" } ?? "" }
}

extension DocumentTransaction {
    /// Runs a statement, as part of what is changed in place.
    fileprivate mutating func execute(
        _ query: Query, _ arguments: QueryArguments, _ queries: QueryEngine
    ) throws(StoreError) -> QueryOutcome {
        do throws(QueryError) {
            return try queries.execute(query, arguments, in: &self)
        } catch {
            throw StoreError(error)
        }
    }
}
