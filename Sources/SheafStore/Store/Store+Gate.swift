import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSystem
import Synchronization

/// Entering and leaving the write gate.
extension Store {
    /// The open write transaction of this store in whose block the task runs, if there is one.
    var openTransaction: StoreTransaction? {
        var next = StoreTransaction.current
        while let transaction = next {
            if transaction.store === self, !transaction.info.isReadOnly, transaction.isOpen {
                return transaction
            }
            next = transaction.outer
        }
        return nil
    }

    /// The open transaction of this store in whose block the task runs; closing would wait for it.
    var enclosingTransaction: StoreTransaction? {
        var next = StoreTransaction.current
        while let transaction = next {
            if transaction.store === self, transaction.isOpen { return transaction }
            next = transaction.outer
        }
        return nil
    }

    /// Throws if a write would wait for the transaction in whose block it was requested.
    func checkNesting(_ what: () -> String) throws(StoreError) {
        // Usually there is no transaction, and this costs one task-local read.
        guard StoreTransaction.current != nil, let transaction = openTransaction else { return }
        throw StoreError(
            .nestedTransaction,
            "\(what()) would wait forever for the transaction\(transaction.quotedHint), in whose "
                + "block it was requested",
            hint: "use the transaction passed to the block, or wait until it has ended")
    }

    /// Waits until the caller may write; the caller must call `leave()` afterwards.
    nonisolated(nonsending) func enter(_ what: String) async throws {
        try await checkEntry()
        if gate.withLock({ $0.enter() }) { return }
        let turn = try await wait(what) { (number, end) in
            WriteGate.Waiter(number: number, since: waitStart) { end(.ended($0)) }
        }
        precondition(turn == nil, "A waiter without a `serve` closure was served.")
    }

    /// Waits until the caller may write, or until another writer has run `statement`.
    ///
    /// Returns nil in the first case; in the second, the result, once its commit has reached the
    /// store's durability. A statement takes microseconds, and waking a task takes tens of them, so
    /// the active writer runs the statements of waiting ones.
    nonisolated(nonsending) func enter(
        orServe statement: Statement, _ values: ArgumentValues
    ) async throws -> QueryResult? {
        try await checkEntry()
        if gate.withLock({ $0.enter() }) { return nil }
        return try await wait("the statement \"\(statement.text.shortened)\"") { (number, end) in
            WriteGate.Waiter(
                number: number, since: waitStart,
                serve: { [self] in serve(statement, values) { end(.served($0)) } },
                wake: { end(.ended($0)) })
        }?.get()
    }

    private nonisolated(nonsending) func checkEntry() async throws {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        _ = try log
        // Cancellation counts even if the gate is free: the outcome must not depend on contention.
        try Task.checkCancellation()
    }

    /// The end of a wait for the gate.
    private enum Turn: Sendable {
        case ended(WriteGate.Outcome)
        case served(Result<QueryResult, StoreError>)
    }

    /// Waits for the gate; returns the result if another writer ran the statement, nil on entry.
    private nonisolated(nonsending) func wait(
        _ what: @autoclosure () -> String,
        _ makeWaiter: (UInt64, @escaping @Sendable (Turn) -> Void) -> WriteGate.Waiter
    ) async throws -> Result<QueryResult, StoreError>? {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let turn = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Turn, Never>) in
                let waiter = makeWaiter(number) { continuation.resume(returning: $0) }
                if let outcome = gate.withLock({ $0.wait(waiter) }) {
                    continuation.resume(returning: .ended(outcome))
                } else {
                    slowTransactionMonitor.monitorWaiter()
                }
            }
        } onCancel: {
            gate.withLock { $0.cancel(number) }?.wake(.cancelled)
        }
        // The contended lock is taken only if the task was canceled and may have left a mark.
        if Task.isCancelled { gate.withLock { $0.clearCancellation(number) } }
        switch turn {
        case .ended(.entered): return nil
        case .ended(.cancelled): throw CancellationError()
        case .ended(.closed): throw StoreError.closed
        case .ended(.overdue(let holder)): throw Self.overdueError(what(), holder)
        case .served(let result): return result
        }
    }

    /// The current time, as the start of a wait.
    var waitStart: UInt64 { Clock.system.monotonicNanoseconds() }

    /// Returns the error of a writer that one transaction kept waiting for too long.
    static func overdueError(_ what: String, _ holder: TransactionInfo) -> StoreError {
        let hint = holder.hint.map { " \"\($0.shortened)\"" } ?? ""
        return StoreError(
            .timedOut,
            "\(what) has waited for the transaction\(hint) for longer than "
                + "transaction_wait_limit_ms allows",
            hint:
                "within the block of that transaction, and in tasks started there, use the "
                + "transaction passed to the block")
    }

    /// Maximum number of statements run for waiting writers before one of them is woken.
    private static var maximumServings: Int { 64 }

    /// Leaves the gate: runs statements of waiting writers, then wakes the next writer.
    package func leave() {
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

    /// Closes the gate, and waits until no transaction and no writing statement runs.
    nonisolated(nonsending) func waitUntilIdle() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isIdle = gate.withLock { $0.close { continuation.resume() } }
            if isIdle { continuation.resume() }
        }
    }
}

extension Store {
    /// The number of writers waiting for the gate.
    package var waitingCount: Int { gate.withLock { $0.waitingCount } }
}
