/// The results of a query, one after the other as they change.
///
///     for try await result in try store.observe("SELECT * FROM cars") {
///         show(result.items)
///     }
///
/// The first is the result as it is. Who takes longer than the next change gets the newest result. The
/// sequence ends when the store is closed or the observer is cancelled, and the end of the loop, be it
/// by an error or because the task was cancelled, cancels the observer; after a `break` that is so
/// where nobody holds the sequence any more. One loop at a time goes over it.
public struct Observation: AsyncSequence, Sendable {
    public typealias Element = QueryResult

    /// Cancelling it ends the sequence.
    public let observer: Observer
    private let end: End

    /// Cancels the observer when the last copy goes.
    private final class End: Sendable {
        let observer: Observer

        init(_ observer: Observer) {
            self.observer = observer
        }

        deinit {
            observer.cancel()
        }
    }

    init(_ observer: Observer) {
        self.observer = observer
        end = End(observer)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(observer, end) }

    /// Waits for one result after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let observer: Observer
        private let end: any AnyObject & Sendable

        fileprivate init(_ observer: Observer, _ end: any AnyObject & Sendable) {
            self.observer = observer
            self.end = end
        }

        public mutating func next() async throws -> QueryResult? {
            let observer = observer
            let outcome = await withTaskCancellationHandler {
                await withUnsafeContinuation {
                    (continuation: UnsafeContinuation<Observer.Outcome?, Never>) in
                    observer.take { continuation.resume(returning: $0) }
                }
            } onCancel: {
                observer.cancel()
            }
            // Nothing comes behind an error; but what is said to a second loop is not said to the first.
            if case .failure(let error) = outcome, error != Observer.secondLoop {
                observer.cancel()
            }
            return try outcome?.get()
        }
    }
}
