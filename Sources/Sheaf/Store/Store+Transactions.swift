import SheafBytes
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
    /// One transaction at a time writes, and others wait for their turn; those that only read run beside
    /// it, each on one state of the store. An error that leaves the block rolls the transaction back,
    /// and so does the end of the task that runs it.
    // Disfavored, or the compiler would take blocks without a `return` for unfinished ones of this kind.
    @_disfavoredOverload
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: nonisolated(nonsending) (Transaction) async throws -> TransactionCompletion
    ) async throws -> TransactionCompletion {
        try await transaction(hint: hint, isReadOnly: isReadOnly, body, endingAs: { $0 })
    }

    /// Runs several statements as one transaction, which is committed when the block returns.
    @inline(never)
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: nonisolated(nonsending) (Transaction) async throws -> Void
    ) async throws {
        try await transaction(hint: hint, isReadOnly: isReadOnly, body, endingAs: { nil })
    }

    /// Runs several statements as one transaction, which is committed when the block returns a value.
    ///
    /// A value that is a `TransactionCompletion` decides, also where a function of yours hands on what a
    /// block returns, whatever it is.
    @discardableResult
    @inline(never)
    public nonisolated(nonsending) func transaction<Result>(
        hint: String? = nil, isReadOnly: Bool = false,
        _ body: nonisolated(nonsending) (Transaction) async throws -> Result
    ) async throws -> Result {
        try await transaction(hint: hint, isReadOnly: isReadOnly, body) {
            $0 as? TransactionCompletion
        }
    }

    /// Runs several statements as one transaction, and ends it as `completion` says.
    ///
    /// Where `completion` returns nil, the transaction is committed, unless a call within the block has
    /// ended it.
    @inline(never)
    package nonisolated(nonsending) func transaction<Result>(
        hint: String?, isReadOnly: Bool,
        _ body: nonisolated(nonsending) (Transaction) async throws -> Result,
        endingAs completion: (Result) -> TransactionCompletion?
    ) async throws -> Result {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        let number = numbers.add(1, ordering: .relaxed).newValue
        let info = TransactionInfo(id: "\(number)", hint: hint, isReadOnly: isReadOnly)
        guard !isReadOnly else {
            try beginReading()
            let transaction = Transaction(reading: self, info)
            defer {
                transaction.rollBack()
                leave(after: transaction)
            }
            let result = try await Transaction.$current.withValue(transaction) {
                try await body(transaction)
            }
            _ = try transaction.commitOfExplicitEnding(completion(result))
            return result
        }
        let what = hint.map { "another transaction \"\($0.shortened)\"" } ?? "another transaction"
        try checkNesting { what }
        try await enter(what)
        let transaction = Transaction(writing: self, info)
        let (result, commit) = try await finish(transaction, body, completion)
        if let commit { try await finishCommit(commit, of: transaction) }
        return result
    }

    /// Waits until the commit of a transaction is durable, then publishes its number.
    nonisolated(nonsending) func finishCommit(
        _ commit: CommitID, of transaction: Transaction
    ) async throws {
        try await reachDurability(of: commit)
        transaction.note(commit)
        reapIfDue()
    }

    /// Counts a read-only transaction that begins, for which closing waits.
    func beginReading() throws(StoreError) {
        guard gate.withLock({ $0.beginReading() }) else { throw .closed }
    }

    /// Lets the next writer in, or closing go on, once for each transaction.
    func leave(after transaction: Transaction) {
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
        watchman.end(transaction.info)
        leave()
    }

    /// Runs the block of a transaction, and ends it; its changes have their place in the log then.
    private nonisolated(nonsending) func finish<Result>(
        _ transaction: Transaction,
        _ body: nonisolated(nonsending) (Transaction) async throws -> Result,
        _ completion: (Result) -> TransactionCompletion?
    ) async throws -> (Result, CommitID?) {
        watchman.begin(transaction.info)
        defer { leave(after: transaction) }
        do {
            let result = try await Transaction.$current.withValue(transaction) {
                try await body(transaction)
            }
            let completion = completion(result)
            if let commit = try transaction.commitOfExplicitEnding(completion) {
                return (result, commit)
            }
            // Whoever cancelled the task does not expect that it still changes something.
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
