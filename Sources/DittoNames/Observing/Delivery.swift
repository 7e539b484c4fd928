import Dispatch
import Sheaf
import Synchronization

/// The delivery of observed results to a queue, one at a time.
package final class Delivery: Sendable {
    /// The handler of a result, called on the queue; the next result follows after `signalNext`.
    typealias Handler = (QueryResult, _ signalNext: @escaping @Sendable () -> Void) -> Void

    private struct State: Sendable {
        var observer: StoreObserver?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Starts the delivery; throws if the statement is invalid.
    init(
        of statement: DittoStatement, from store: DittoStore, on queue: DispatchQueue,
        to handler: @escaping Handler
    ) throws {
        // Handlers of the reference system are not `Sendable`. This one is called by one thread at
        // a time, on the queue chosen by the caller.
        nonisolated(unsafe) let handler = handler
        let observer = try store.sheaf.observe(statement.query, statement.arguments) {
            [weak self] result, next in
            queue.async { [weak self] in
                // The delivery may have been canceled while the queue was busy.
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

    /// Whether the delivery has been canceled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels the delivery: no call starts after this returns.
    func cancel() {
        let observer = state.withLock { state in
            state.isCancelled = true
            return state.observer
        }
        observer?.cancel()
    }
}
