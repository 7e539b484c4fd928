import SheafBytes
import SheafQuery
import SheafStorage
import Synchronization

/// How writers wait for each other.
extension Store {
    /// The transaction of this store that writes, in whose block the task runs; none where there is
    /// none, or it has ended.
    var openTransaction: Transaction? {
        var next = Transaction.current
        while let transaction = next {
            if transaction.store === self, !transaction.info.isReadOnly, transaction.isOpen {
                return transaction
            }
            next = transaction.outer
        }
        return nil
    }

    /// The transaction of this store in whose block the task runs and for which closing would wait.
    var enclosingTransaction: Transaction? {
        var next = Transaction.current
        while let transaction = next {
            if transaction.store === self, transaction.isOpen { return transaction }
            next = transaction.outer
        }
        return nil
    }

    /// Throws where a write would wait for the transaction in whose block it was asked for.
    func checkNesting(_ what: () -> String) throws(StoreError) {
        // Nearly always there is none, which costs one look.
        guard Transaction.current != nil, let transaction = openTransaction else { return }
        throw StoreError(
            .nestedTransaction,
            "\(what()) would wait for the transaction\(transaction.quotedHint), in whose block it "
                + "was asked for, and so for ever",
            hint: "use the transaction that the block was handed, or wait until it has ended")
    }

    /// Returns when the caller may write; who does calls `leave` then.
    nonisolated(nonsending) func enter(_ what: String) async throws {
        try await checkEntry()
        if gate.withLock({ $0.enter() }) { return }
        let turn = try await wait(what) { (number, end) in
            WriteGate.Waiter(number: number, since: waitingSince) { end(.ended($0)) }
        }
        precondition(turn == nil, "Nobody serves who has not said how.")
    }

    /// Returns when the caller may write, or when his statement was run in his place and its commit has
    /// reached the store's durability, with what came of it.
    ///
    /// A statement takes some microseconds, and to wake a task some tens of them: where many write, whoever
    /// is awake does what the others wait for.
    nonisolated(nonsending) func enter(
        orServe statement: Statement, _ values: ArgumentValues
    ) async throws -> QueryResult? {
        try await checkEntry()
        if gate.withLock({ $0.enter() }) { return nil }
        return try await wait("the statement \"\(statement.text.shortened)\"") { (number, end) in
            WriteGate.Waiter(
                number: number, since: waitingSince,
                serve: { [self] in serve(statement, values) { end(.served($0)) } },
                wake: { end(.ended($0)) })
        }?.get()
    }

    private nonisolated(nonsending) func checkEntry() async throws {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        _ = try log
        // Also where nobody stands in the way: what a cancelled task writes must not depend on that.
        try Task.checkCancellation()
    }

    /// How waiting for a turn has ended.
    private enum Turn: Sendable {
        case ended(WriteGate.Outcome)
        case served(Result<QueryResult, StoreError>)
    }

    /// Waits for a turn; returns what came of it, where somebody else has taken it.
    private nonisolated(nonsending) func wait(
        _ what: @autoclosure () -> String,
        _ makeWaiter: (UInt64, @escaping @Sendable (Turn) -> Void) -> WriteGate.Waiter
    ) async throws -> Result<QueryResult, StoreError>? {
        let number = numbers.add(1, ordering: .relaxed).newValue
        let turn = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Turn, Never>) in
                let waiter = makeWaiter(number) { continuation.resume(returning: $0) }
                if let outcome = gate.withLock({ $0.wait(waiter) }) {
                    continuation.resume(returning: .ended(outcome))
                } else {
                    watchman.noteWaiter()
                }
            }
        } onCancel: {
            gate.withLock { $0.cancel(number) }?.wake(.cancelled)
        }
        // Whoever was not cancelled by now has not given up: this lock is one that others wait for.
        if Task.isCancelled { gate.withLock { $0.forget(number) } }
        switch turn {
        case .ended(.entered): return nil
        case .ended(.cancelled): throw CancellationError()
        case .ended(.closed): throw StoreError.closed
        case .ended(.overdue(let holder)): throw Self.overdueError(what(), holder)
        case .served(let result): return result
        }
    }

    /// When a writer begins to wait.
    var waitingSince: UInt64 { Clock.system.monotonicNanoseconds() }

    /// What a writer gets that one transaction has kept waiting for too long.
    static func overdueError(_ what: String, _ holder: TransactionInfo) -> StoreError {
        let hint = holder.hint.map { " \"\($0.shortened)\"" } ?? ""
        return StoreError(
            .timedOut,
            "\(what) has waited for the transaction\(hint) for longer than "
                + "transaction_wait_limit_ms allows",
            hint:
                "if it was asked for within the block of that transaction, also from another task, "
                + "use the transaction that the block was handed")
    }

    /// So many statements are run for others before somebody else has to go on.
    private static var maximumServings: Int { 64 }

    /// Lets the next one in who waited for the caller, or does what he wanted, and so on.
    func leave() {
        var servings = Self.maximumServings
        while true {
            let (next, idle) = gate.withLock { gate in (gate.leave(), gate.takeIdleWaiter()) }
            guard let next else {
                idle?()
                return
            }
            guard servings > 0, let serve = next.serve, serve() else {
                next.wake(.entered)
                return
            }
            servings -= 1
        }
    }

    /// Refuses who comes from now on, and returns when no transaction and no statement that writes runs.
    nonisolated(nonsending) func waitUntilIdle() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isIdle = gate.withLock { $0.close { continuation.resume() } }
            if isIdle { continuation.resume() }
        }
    }
}

extension Store {
    /// How many wait for their turn to write.
    package var waitingCount: Int { gate.withLock { $0.waitingCount } }
}
