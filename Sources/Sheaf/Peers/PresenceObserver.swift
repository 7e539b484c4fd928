import SheafQuery
public import SheafReplication
import SheafStorage
import Synchronization

/// The registration of a callback or a sequence for changes of the presence graph.
///
/// A slow observer gets the newest graph and misses those in between. The observer stays
/// registered, even if not retained, until it is canceled or the peer is closed.
public final class PresenceObserver: Sendable {
    private struct State: Sendable {
        var pendingGraph: PresenceGraph?
        /// Whether a graph was put or the delivery has ended.
        var hasBegun = false
        /// Whether a task is calling `onChange`, or is about to.
        var isCalling = false
        var isCancelled = false
        /// The continuation of a sequence that waits for the next graph.
        var waiter: (@Sendable (PresenceGraph?) -> Void)?
    }

    private let state = Mutex(State())
    /// The callback; nil if an asynchronous sequence consumes the graphs.
    private let onChange: (@Sendable (PresenceGraph) -> Void)?
    private weak let registry: PresenceRegistry?

    init(_ registry: PresenceRegistry, _ onChange: (@Sendable (PresenceGraph) -> Void)?) {
        self.registry = registry
        self.onChange = onChange
    }

    /// Whether the delivery has ended.
    public var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Stops the delivery: no callback begins after this returns.
    ///
    /// It does not wait for a running callback. Further calls have no effect.
    public func cancel() {
        end()
        registry?.remove(self)
    }

    /// Ends the delivery without removing the observer from the registry.
    func end() {
        let waiter = state.withLock { state in
            defer { state = State(hasBegun: true, isCancelled: true) }
            return state.waiter
        }
        waiter?(nil)
    }

    /// Delivers a graph, or stores it until the consumer is ready.
    func put(_ graph: PresenceGraph, unlessThereIsOne isFirst: Bool = false) {
        let (waiter, isToCall) = state.withLock { state in
            guard !state.isCancelled, !(isFirst && state.hasBegun) else {
                return (nil as (@Sendable (PresenceGraph?) -> Void)?, false)
            }
            state.hasBegun = true
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, false)
            }
            state.pendingGraph = graph
            guard onChange != nil, !state.isCalling else { return (nil, false) }
            state.isCalling = true
            return (nil, true)
        }
        waiter?(graph)
        if isToCall { Task { call() } }
    }

    /// Calls the callback until there is no newer graph.
    private func call() {
        while let graph = next() { onChange?(graph) }
    }

    private func next() -> PresenceGraph? {
        state.withLock { state in
            defer { state.pendingGraph = nil }
            if state.pendingGraph == nil { state.isCalling = false }
            return state.pendingGraph
        }
    }

    /// Calls `waiter` with the newest graph, or with the next one once there is one.
    ///
    /// Calls it with nil when the delivery has ended, or if another consumer is waiting.
    fileprivate func requestNext(_ waiter: @escaping @Sendable (PresenceGraph?) -> Void) {
        let graph: PresenceGraph?? = state.withLock { state in
            if let newest = state.pendingGraph {
                state.pendingGraph = nil
                return .some(newest)
            }
            if state.isCancelled || state.waiter != nil { return .some(nil) }
            state.waiter = waiter
            return .none
        }
        if let graph { waiter(graph) }
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
    public typealias Element = PresenceGraph
    public typealias Failure = Never

    /// The observer; canceling it ends the sequence.
    public let observer: PresenceObserver
    private let end: End

    /// A token that cancels the observer when the last copy of the sequence is released.
    private final class End: Sendable {
        let observer: PresenceObserver

        init(_ observer: PresenceObserver) {
            self.observer = observer
        }

        deinit {
            observer.cancel()
        }
    }

    init(_ observer: PresenceObserver) {
        self.observer = observer
        end = End(observer)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(observer, end) }

    /// The iterator of a presence observation.
    public struct Iterator: AsyncIteratorProtocol {
        private let observer: PresenceObserver
        private let end: any AnyObject & Sendable

        fileprivate init(_ observer: PresenceObserver, _ end: any AnyObject & Sendable) {
            self.observer = observer
            self.end = end
        }

        public mutating func next() async -> PresenceGraph? {
            let observer = observer
            return await withTaskCancellationHandler {
                await withUnsafeContinuation {
                    (continuation: UnsafeContinuation<PresenceGraph?, Never>) in
                    observer.requestNext { continuation.resume(returning: $0) }
                }
            } onCancel: {
                observer.cancel()
            }
        }
    }
}
