import Dispatch
import Sheaf
import Synchronization

/// Brings the results of an observed query to a queue, one at a time.
final class Delivery: Sendable {
    /// Called on the queue; nothing more comes until the second argument is called.
    typealias Handler = (QueryResult, _ signalNext: @escaping @Sendable () -> Void) -> Void

    private struct State: Sendable {
        var observer: Observer?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Begins to deliver; what is wrong with the statement is thrown.
    init(
        of statement: Statement, from store: DittoStore, on queue: DispatchQueue,
        to handler: @escaping Handler
    ) throws {
        // Handlers of the reference system change variables around them, and cannot be `Sendable`. One
        // call at a time is made, on a queue that the caller has chosen for that.
        nonisolated(unsafe) let handler = handler
        let observer = try store.sheaf.observe(statement.query, statement.arguments) {
            [weak self] result, next in
            queue.async { [weak self] in
                // It may have been cancelled while the queue was busy.
                guard let self, !self.isCancelled else { return }
                handler(result, next)
            }
        }
        let isCancelled = state.withLock { state in
            state.observer = observer
            return state.isCancelled
        }
        if isCancelled { observer.cancel() }
    }

    deinit {
        cancel()
    }

    /// Whether nothing more will be delivered.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Stops the delivery: no call begins after this has returned.
    func cancel() {
        let observer = state.withLock { state in
            state.isCancelled = true
            return state.observer
        }
        observer?.cancel()
    }
}
