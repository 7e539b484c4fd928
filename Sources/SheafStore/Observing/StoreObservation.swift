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
/// cancellation of the task cancel the observer; after a `break`, it is canceled when the sequence
/// is released. Only one loop at a time can iterate over the sequence.
public struct StoreObservation: AsyncSequence, Sendable {
    public typealias Element = QueryResult

    /// The observer of the sequence; canceling it ends the sequence.
    public let observer: StoreObserver
    private let end: End

    /// A token that cancels the observer when the last copy is released.
    private final class End: Sendable {
        let observer: StoreObserver

        init(_ observer: StoreObserver) {
            self.observer = observer
        }

        deinit {
            observer.cancel()
        }
    }

    init(_ observer: StoreObserver) {
        self.observer = observer
        end = End(observer)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(observer, end) }

    /// An iterator that waits for each result.
    public struct Iterator: AsyncIteratorProtocol {
        private let observer: StoreObserver
        private let end: any AnyObject & Sendable

        fileprivate init(_ observer: StoreObserver, _ end: any AnyObject & Sendable) {
            self.observer = observer
            self.end = end
        }

        /// Waits for the next result; returns nil after the end of the sequence.
        public mutating func next() async throws -> QueryResult? {
            let observer = observer
            let outcome = await withTaskCancellationHandler {
                await withUnsafeContinuation {
                    (continuation: UnsafeContinuation<StoreObserver.Outcome?, Never>) in
                    observer.requestNext { continuation.resume(returning: $0) }
                }
            } onCancel: {
                observer.cancel()
            }
            // Any error ends the sequence, but that of a second loop must not end the first loop.
            if case .failure(let error) = outcome, error != StoreObserver.secondLoopError {
                observer.cancel()
            }
            return try outcome?.get()
        }
    }
}
