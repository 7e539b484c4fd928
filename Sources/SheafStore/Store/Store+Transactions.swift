import SheafBytes
import SheafDocument
import SheafStorage
import Synchronization

extension Store {
    /// Runs several statements as one transaction: all of them become one commit, or none does.
    ///
    ///     try await store.transaction(hint: "move") { transaction in
    ///         try await transaction.execute("UPDATE accounts SET sum = sum - 5 WHERE _id = 'a'")
    ///         try await transaction.execute("UPDATE accounts SET sum = sum + 5 WHERE _id = 'b'")
    ///         return .commit
    ///     }
    ///
    /// One transaction at a time writes, and further ones wait. Read-only transactions run
    /// concurrently, each on one snapshot. An error thrown by the block rolls the transaction back,
    /// and so does the cancellation of its task.
    // It is disfavored: the compiler would otherwise choose it for blocks without a `return`.
    @_disfavoredOverload
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: nonisolated(nonsending) (StoreTransaction) async throws -> TransactionCompletion
    ) async throws -> TransactionCompletion {
        try await transaction(hint: hint, isReadOnly: isReadOnly, body, endingAs: { $0 })
    }

    /// Runs several statements as one transaction, which is committed when the block returns.
    @inline(never)
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: nonisolated(nonsending) (StoreTransaction) async throws -> Void
    ) async throws {
        try await transaction(hint: hint, isReadOnly: isReadOnly, body, endingAs: { nil })
    }

    /// Runs several statements as one transaction, committed when the block returns a value.
    ///
    /// A value that is a `TransactionCompletion` decides how the transaction ends, even if a
    /// generic function passes it on.
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func transaction<Result>(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: nonisolated(nonsending) (StoreTransaction) async throws -> Result
    ) async throws -> Result {
        try await transaction(hint: hint, isReadOnly: isReadOnly, body) {
            $0 as? TransactionCompletion
        }
    }

    /// Runs several statements as one transaction, which ends as `completion` decides.
    ///
    /// If `completion` returns nil, the transaction is committed, unless a call within the block
    /// has already ended it.
    @inline(never)
    package nonisolated(nonsending) func transaction<Result>(
        hint: String?, isReadOnly: Bool,
        _ body: nonisolated(nonsending) (StoreTransaction) async throws -> Result,
        endingAs completion: (Result) -> TransactionCompletion?
    ) async throws -> Result {
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
            let result = try await StoreTransaction.$current.withValue(transaction) {
                try await body(transaction)
            }
            _ = try transaction.commitOfExplicitEnding(completion(result))
            return result
        }
        let what = hint.map { "another transaction \"\($0.shortened)\"" } ?? "another transaction"
        try checkNesting { what }
        try await enter(what)
        let transaction = StoreTransaction(writing: self, info)
        let (result, commit) = try await finish(transaction, body, completion)
        if let commit { try await finishCommit(commit, of: transaction) }
        return result
    }

    /// Waits until the commit of a transaction is durable, then publishes its number.
    nonisolated(nonsending) func finishCommit(
        _ commit: CommitID, of transaction: StoreTransaction
    ) async throws {
        try await waitForDurability(of: commit)
        transaction.publishCommit(commit)
        collectGarbageIfDue()
    }

    /// Counts a read-only transaction, which closing waits for; throws if the store is closing.
    func beginReading() throws(StoreError) {
        guard gate.withLock({ $0.beginReading() }) else { throw .closed }
    }

    /// Leaves the gate after a transaction; further calls for the same transaction do nothing.
    func leave(after transaction: StoreTransaction) {
        guard !transaction.hasLeftGate.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        guard !transaction.info.isReadOnly else {
            let idle = gate.withLock { gate in
                gate.endReading()
                return gate.takeIdleWaiter()
            }
            idle?()
            return
        }
        slowTransactionMonitor.end(transaction.info)
        leave()
    }

    /// Runs the block of a transaction and ends it, appending its changes to the log.
    private nonisolated(nonsending) func finish<Result>(
        _ transaction: StoreTransaction,
        _ body: nonisolated(nonsending) (StoreTransaction) async throws -> Result,
        _ completion: (Result) -> TransactionCompletion?
    ) async throws -> (Result, CommitID?) {
        slowTransactionMonitor.begin(transaction.info)
        defer { leave(after: transaction) }
        do {
            let result = try await StoreTransaction.$current.withValue(transaction) {
                try await body(transaction)
            }
            let completion = completion(result)
            if let commit = try transaction.commitOfExplicitEnding(completion) {
                return (result, commit)
            }
            // A canceled task must not commit.
            try Task.checkCancellation()
            switch completion ?? .commit {
            case .commit: return (result, try transaction.commit())
            case .rollback:
                transaction.rollBack()
                return (result, nil)
            }
        } catch {
            transaction.rollBack()
            throw error
        }
    }
}
