public import SheafReplication

/// The observation of the presence graph; it ends when the observer is released.
///
/// A slow observer gets the newest graph and misses those in between. Nothing is delivered after
/// `cancel`, nor after the last reference to the observer is released: keep it as long as graphs
/// are wanted. The peer does not retain it.
public final class PresenceObserver: Sendable {
    fileprivate let registration: PresenceRegistration

    /// Creates the handle of a registration; its release cancels the registration.
    init(_ registration: PresenceRegistration) {
        self.registration = registration
    }

    deinit {
        registration.cancel()
    }

    /// Whether the delivery has ended.
    public var isCancelled: Bool { registration.isCancelled }

    /// Stops the delivery: no callback begins after this returns.
    ///
    /// It does not wait for a running callback. Further calls have no effect.
    public func cancel() {
        registration.cancel()
    }
}

/// An asynchronous sequence of presence graphs, one for each change.
///
///     for await graph in peer.presence.observe() {
///         show(graph.remotePeers.map(\.deviceName))
///     }
///
/// The first element is the current graph; a slow consumer misses all but the newest one. The
/// sequence ends when the peer is closed or the observer is canceled. Canceling the task or
/// releasing the sequence cancels the observer. Only one task at a time may iterate.
public struct PresenceObservation: AsyncSequence, Sendable {
    /// A graph.
    public typealias Element = PresenceGraph
    /// The sequence never fails.
    public typealias Failure = Never

    /// The observer; canceling it ends the sequence.
    public let observer: PresenceObserver

    init(_ observer: PresenceObserver) {
        self.observer = observer
    }

    /// Creates an iterator; only one task at a time may use the iterators of a sequence.
    public func makeAsyncIterator() -> Iterator { Iterator(observer) }

    /// The iterator of a presence observation.
    public struct Iterator: AsyncIteratorProtocol {
        private let observer: PresenceObserver

        fileprivate init(_ observer: PresenceObserver) {
            self.observer = observer
        }

        /// Waits for the next graph; returns nil after the end of the sequence.
        public mutating func next() async -> PresenceGraph? {
            let observer = observer
            return await withTaskCancellationHandler {
                await withUnsafeContinuation {
                    (continuation: UnsafeContinuation<PresenceGraph?, Never>) in
                    observer.registration.requestNext { continuation.resume(returning: $0) }
                }
            } onCancel: {
                observer.cancel()
            }
        }
    }
}
