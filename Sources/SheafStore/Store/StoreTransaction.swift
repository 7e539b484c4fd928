import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
public import SheafStatements
import SheafStorage
import Synchronization

/// The way in which a transaction ends.
public enum TransactionCompletion: Hashable, Sendable {
    /// All changes are kept.
    case commit
    /// All changes are discarded.
    case rollback
}

/// The identity of a transaction in messages.
public struct TransactionInfo: Hashable, Sendable {
    /// A number that is unique among the transactions of the store.
    public let id: String
    /// The purpose of the transaction, shown in messages.
    public let hint: String?
    /// Whether the transaction refuses statements that write.
    public let isReadOnly: Bool

    package init(id: String, hint: String?, isReadOnly: Bool) {
        self.id = id
        self.hint = hint
        self.isReadOnly = isReadOnly
    }
}

/// Several statements on one snapshot, which become one commit.
///
/// A transaction can be used only within the block that it was passed to. Statements see the
/// changes of earlier ones. A statement that fails changes nothing, and the transaction continues
/// if the error is caught.
public final class StoreTransaction: Sendable {
    /// The identity of the transaction in messages.
    public let info: TransactionInfo
    let store: Store
    /// The transaction in whose block this one began, possibly of another store.
    let outer: StoreTransaction?
    private let phase: Mutex<Phase>
    /// Whether the transaction has ended; outside of `phase`, whose lock a running statement holds.
    private let hasEnded = Atomic(false)
    /// The way in which a call within the block ended the transaction; nil if none did.
    let explicitEnding = Mutex<ExplicitEnding?>(nil)
    /// Whether the transaction has left the gate.
    let hasLeftGate = Atomic(false)
    /// The commit of the changes once it is durable, or that of the snapshot read.
    private let commitCell = CommitCell()

    /// The changes or the snapshot of an open transaction; both are nil after its end.
    // An enum would make each statement copy the associated value out and back.
    private struct Phase: Sendable {
        /// The changes of a write transaction.
        var writing: DocumentTransaction?
        /// The snapshot of a read-only transaction.
        var reading: DocumentSnapshot?
    }

    /// The transaction in whose block this task runs or was created.
    @TaskLocal static var current: StoreTransaction?

    /// Begins a write transaction; the caller holds the gate.
    init(writing store: Store, _ info: TransactionInfo) {
        self.store = store
        self.info = info
        outer = Self.current
        phase = Mutex(Phase(writing: store.queries.documents.begin()))
    }

    /// Begins a read-only transaction.
    init(reading store: Store, _ info: TransactionInfo) {
        self.store = store
        self.info = info
        outer = Self.current
        phase = Mutex(Phase(reading: store.queries.snapshot()))
    }

    /// Runs a statement in the transaction.
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func execute(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) async throws -> QueryResult {
        try Task.checkCancellation()
        do throws(StoreError) {
            return try run(query, arguments)
        } catch  where error.reason == .cancelled {
            throw CancellationError()
        }
    }

    /// Runs a statement without suspending.
    func run(_ query: DQL, _ arguments: QueryArguments) throws(StoreError) -> QueryResult {
        let (queries, cell) = (store.queries, commitCell)
        return try phase.withLock { (phase) throws(StoreError) in
            guard isOpen else { throw hasEndedError }
            let (statement, values) = try queries.prepare(query, arguments)
            if let result = try phase.writing?.execute(statement, values, queries, cell) {
                return QueryResult(result, of: statement, values, queries)
            }
            guard let snapshot = phase.reading, !statement.isWriting else { throw readOnlyError }
            return QueryResult(
                try queries.execute(statement, values, on: snapshot, cell), of: statement, values,
                queries)
        }
    }

    /// Runs an inserting statement once for each of several arguments, as one statement.
    ///
    /// An error of `next`, or of a run, discards the changes of all runs.
    func run(
        _ query: DQL, forEach next: () throws -> QueryArguments?
    ) throws -> WrittenDocuments {
        let queries = store.queries
        var problem: (any Error)?
        return try writing(&problem) { (transaction, problem) throws(StoreError) in
            try queries.execute(try queries.statement(query), in: &transaction) {
                () throws(StoreError) in
                try Self.input(&problem, next)
                    .map { (arguments) throws(StoreError) in try query.bind(arguments) }
            }
        }
    }

    /// Inserts documents, or replaces the fields of existing ones, as one statement.
    func upsert(
        _ insertion: DQL, into collection: String, forEach next: () throws -> [Object]?
    ) throws -> WrittenDocuments {
        let queries = store.queries
        var problem: (any Error)?
        return try writing(&problem) { (transaction, problem) throws(StoreError) in
            try queries.upsert(
                try queries.statement(insertion), into: collection, in: &transaction
            ) { () throws(StoreError) in
                try Self.input(&problem, next)
            }
        }
    }

    /// Returns the next input; records an error that is none of the store.
    private static func input<Input>(
        _ problem: inout (any Error)?, _ next: () throws -> Input?
    ) throws(StoreError) -> Input? {
        do {
            try Task.checkCancellation()
            return try next()
        } catch {
            problem = error
            throw error as? StoreError ?? StoreError(.cancelled, "\(error)")
        }
    }

    /// Calls `body` with the open transaction; an error in `problem` is thrown instead of others.
    private func writing(
        _ problem: inout (any Error)?,
        _ body: (
            inout DocumentTransaction, inout (any Error)?
        ) throws(StoreError) -> [Value]
    ) throws -> WrittenDocuments {
        do throws(StoreError) {
            let ids = try phase.withLock { (phase) throws(StoreError) -> [Value] in
                guard isOpen else { throw hasEndedError }
                guard phase.writing != nil else { throw readOnlyError }
                return try phase.writing?.call(body, &problem) ?? []
            }
            return WrittenDocuments(ids, .of(commitCell))
        } catch {
            throw problem ?? (error.reason == .cancelled ? CancellationError() : error)
        }
    }

    /// Turns `old` into `new` within a document; returns nil if the document does not exist.
    func replace(
        _ id: Value, in collection: String, from old: Object, to new: Object
    ) throws(StoreError) -> WrittenDocuments? {
        let queries = store.queries
        let isChanged = try phase.withLock { (phase) throws(StoreError) -> Bool? in
            guard isOpen else { throw hasEndedError }
            guard phase.writing != nil else { throw readOnlyError }
            return try phase.writing?.replace(id, in: collection, from: old, to: new, queries)
        }
        return isChanged.map { WrittenDocuments($0 ? [id] : [], .of(commitCell)) }
    }

    private var readOnlyError: StoreError {
        StoreError(
            .readOnly,
            "the transaction\(quotedHint) is read-only, and the statement would write",
            hint: "begin a transaction with isReadOnly: false to write")
    }

    /// Ends the transaction; returns its changes, or nil if it is read-only or has already ended.
    private func end() -> DocumentTransaction? {
        phase.withLock { phase in
            defer { phase = Phase() }
            hasEnded.store(true, ordering: .releasing)
            if let snapshot = phase.reading { commitCell.set(snapshot.log.commit) }
            return phase.writing
        }
    }

    /// Appends the changes to the log; returns their commit, or nil if there is nothing to end.
    func commit() throws(StoreError) -> CommitID? {
        guard var transaction = end() else { return nil }
        let log = try store.log
        do throws(EngineError) {
            return try store.queries.documents.commit(&transaction) {
                (batch) throws(StorageError) in try log.append(batch)
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// Publishes the durable commit to the results of the transaction.
    func publishCommit(_ commit: CommitID) {
        commitCell.set(commit)
    }

    /// Ends the transaction and discards its changes; does nothing after its end.
    func rollBack() {
        guard var transaction = end() else { return }
        store.queries.documents.rollBack(&transaction)
    }

    /// Whether the transaction can still run statements.
    var isOpen: Bool { !hasEnded.load(ordering: .acquiring) }

    /// The hint in quotes after a space; empty without a hint.
    var quotedHint: String { info.hint.map { " \"\($0.shortened)\"" } ?? "" }
}

extension DocumentTransaction {
    /// Runs a statement in place, without copying the transaction.
    fileprivate mutating func execute(
        _ statement: Statement, _ arguments: ArgumentValues, _ queries: QueryEngine,
        _ commitCell: CommitCell
    ) throws(StoreError) -> ResultStorage {
        try queries.execute(statement, arguments, in: &self, commitCell)
    }

    /// Calls `body` with the transaction in place.
    fileprivate mutating func call(
        _ body: (
            inout DocumentTransaction, inout (any Error)?
        ) throws(StoreError) -> [Value],
        _ problem: inout (any Error)?
    ) throws(StoreError) -> [Value] {
        try body(&self, &problem)
    }

    /// Replaces a document in place.
    fileprivate mutating func replace(
        _ id: Value, in collection: String, from old: Object, to new: Object,
        _ queries: QueryEngine
    ) throws(StoreError) -> Bool? {
        try queries.replace(id, in: collection, from: old, to: new, &self)
    }
}
