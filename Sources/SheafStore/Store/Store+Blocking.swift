import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafStatements
package import SheafStorage
import SheafSystem
import Synchronization

/// Blocking calls, for callers outside of Swift concurrency.
extension Store {
    /// Runs several statements as one transaction, blocking the calling thread.
    ///
    /// Blocks until the write gate is entered, and until the commit survives a power cut. Task
    /// threads are few: if all of them block here for a transaction whose block is a task, that
    /// task never resumes.
    package func transactionBlocking(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: (StoreTransaction) throws -> TransactionCompletion
    ) throws {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let info = TransactionInfo(id: "\(number)", hint: hint, isReadOnly: isReadOnly)
        guard !isReadOnly else {
            try beginReading()
            let transaction = StoreTransaction(reading: self, info)
            defer {
                transaction.rollBack()
                leave(after: transaction)
            }
            _ = try StoreTransaction.$current.withValue(transaction) { try body(transaction) }
            return
        }
        let what = hint.map { "another transaction \"\($0.shortened)\"" } ?? "another transaction"
        try checkNesting { what }
        try enterBlocking(what)
        let transaction = StoreTransaction(writing: self, info)
        guard let commit = try finishBlocking(transaction, body) else { return }
        let log = try log
        do throws(StorageError) { try log.flush() } catch { throw StoreError(error) }
        transaction.publishCommit(commit)
    }

    private func finishBlocking(
        _ transaction: StoreTransaction, _ body: (StoreTransaction) throws -> TransactionCompletion
    ) throws -> CommitID? {
        slowTransactionMonitor.begin(transaction.info)
        defer { leave(after: transaction) }
        do {
            let completion = try StoreTransaction.$current.withValue(transaction) {
                try body(transaction)
            }
            if completion == .commit { return try transaction.commit() }
            transaction.rollBack()
            return nil
        } catch {
            transaction.rollBack()
            throw error
        }
    }

    /// Blocks until `body` is the only writer, and until what it appends is durable.
    package func writeBlocking(
        _ body: (
            _ append: (WriteBatch) throws(StorageError) -> CommitID
        ) throws(EngineError) -> Void
    ) throws(EngineError) {
        let log: LogStore
        do throws(StoreError) {
            try enterBlocking("documents of a hub log")
            log = try self.log
        } catch {
            throw .evaluation(error)
        }
        try append(to: log, body)
        do throws(StorageError) { try log.flush() } catch { throw .storage(error) }
    }

    private func append(
        to log: LogStore,
        _ body: (
            _ append: (WriteBatch) throws(StorageError) -> CommitID
        ) throws(EngineError) -> Void
    ) throws(EngineError) {
        defer { leave() }
        try body { (batch) throws(StorageError) in try log.append(batch) }
    }

    private func enterBlocking(_ what: String) throws(StoreError) {
        // Throws if the store is read-only.
        _ = try log
        if gate.withLock({ $0.enter() }) { return }
        let answer = Monitor<WriteGate.Outcome?>(nil)
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let waiter = WriteGate.Waiter(number: number, since: waitStart) { outcome in
            answer.withLock { $0 = outcome }
            answer.broadcast()
        }
        let known = gate.withLock { $0.wait(waiter) }
        if known == nil { slowTransactionMonitor.monitorWaiter() }
        switch known ?? answer.wait(while: { $0 == nil }, then: { $0 }) {
        case .entered: return
        // `.cancelled` cannot occur: only tasks are canceled.
        case .closed, .cancelled, nil: throw .closed
        case .overdue(let holder): throw Self.overdueError(what, holder)
        }
    }
}

extension StoreTransaction {
    /// Runs a statement on the calling thread, without waiting.
    @discardableResult
    package func executeBlocking(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) throws(StoreError) -> QueryResult {
        try run(query, arguments)
    }
}
