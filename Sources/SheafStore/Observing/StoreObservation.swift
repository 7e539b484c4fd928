import SheafEngine
import SheafQuery
import SheafStorage

/// An asynchronous sequence of the results of a query as they change.
///
///     for try await result in try store.observe("SELECT * FROM cars") {
///         show(result.items)
///     }
///
/// The first element is the current result. A slow loop receives only the newest result. The
/// sequence ends when the store is closed or the observer is canceled. An error and the
/// cancellation of the task cancel the observer, so a loop of a canceled task ends; after a
/// `break`, it is canceled when the sequence is released. Only one loop at a time can iterate over
/// the sequence.
public struct StoreObservation: AsyncSequence, Sendable {
    /// The result after a change, or the current one at first.
    public typealias Element = QueryResult

    /// The observer of the sequence; canceling it ends the sequence.
    public let observer: StoreObserver

    init(_ observer: StoreObserver) {
        self.observer = observer
    }

    /// Returns an iterator; only one at a time receives results.
    public func makeAsyncIterator() -> Iterator { Iterator(observer) }

    /// An iterator that waits for each result.
    public struct Iterator: AsyncIteratorProtocol {
        private let observer: StoreObserver

        fileprivate init(_ observer: StoreObserver) {
            self.observer = observer
        }

        /// Waits for the next result; returns nil after the end of the sequence.
        public mutating func next() async throws -> QueryResult? {
            let observer = observer
            let outcome = await withTaskCancellationHandler {
                await withUnsafeContinuation {
                    (continuation: UnsafeContinuation<ObserverRegistration.Outcome?, Never>) in
                    observer.registration.requestNext { continuation.resume(returning: $0) }
                }
            } onCancel: {
                observer.cancel()
            }
            // Any error ends the sequence, but that of a second loop must not end the first loop.
            if case .failure(let error) = outcome, error != ObserverRegistration.secondLoopError {
                observer.cancel()
            }
            return try outcome?.get()
        }
    }
}
