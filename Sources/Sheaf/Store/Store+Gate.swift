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
    nonisolated(nonsending) func enter(_ kind: WriteGate.Kind) async throws {
        guard !isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        _ = try log
        // Also where nobody stands in the way: what a cancelled task writes must not depend on that.
        try Task.checkCancellation()
        if gate.withLock({ $0.enter(kind) }) { return }
        try await wait(kind)
    }

    private nonisolated(nonsending) func wait(_ kind: WriteGate.Kind) async throws {
        let number = numbers.add(1, ordering: .relaxed).newValue
        let outcome = await withTaskCancellationHandler {
            await withUnsafeContinuation {
                (continuation: UnsafeContinuation<WriteGate.Outcome, Never>) in
                let waiter = WriteGate.Waiter(number: number, kind: kind) {
                    continuation.resume(returning: $0)
                }
                if let outcome = gate.withLock({ $0.wait(waiter) }) {
                    continuation.resume(returning: outcome)
                }
            }
        } onCancel: {
            let (cancelled, admitted) = gate.withLock { $0.cancel(number) }
            cancelled?.wake(.cancelled)
            for waiter in admitted { waiter.wake(.entered) }
        }
        gate.withLock { $0.forget(number) }
        switch outcome {
        case .entered: return
        case .cancelled: throw CancellationError()
        case .closed: throw StoreError.closed
        }
    }

    /// Lets those in who waited for the caller.
    func leave(_ kind: WriteGate.Kind) {
        let (admitted, idle) = gate.withLock { gate in
            let admitted = gate.leave(kind)
            return (admitted, gate.takeIdleWaiter())
        }
        for waiter in admitted { waiter.wake(.entered) }
        idle?()
    }

    /// Refuses who comes from now on, and returns when nobody writes and nobody waits.
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
