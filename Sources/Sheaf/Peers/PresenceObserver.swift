import Synchronization

/// Somebody who is told who is there, and what becomes of that.
///
/// Who is slower than the mesh gets the newest graph, and not those between. An observer that nobody holds goes
/// on until it is cancelled, or the peer is closed.
public final class PresenceObserver: Sendable {
    private struct State: Sendable {
        var newest: PresenceGraph?
        /// Whether anything was ever put.
        var hasBegun = false
        /// Whether a task calls, or is about to.
        var isCalling = false
        var isCancelled = false
        /// Who waits for the next graph of a sequence.
        var waiter: (@Sendable (PresenceGraph?) -> Void)?
    }

    private let state = Mutex(State())
    /// None where an asynchronous sequence asks for each graph.
    private let onChange: (@Sendable (PresenceGraph) -> Void)?
    private weak let board: PresenceBoard?

    init(_ board: PresenceBoard, _ onChange: (@Sendable (PresenceGraph) -> Void)?) {
        self.board = board
        self.onChange = onChange
    }

    /// Whether nothing more will be delivered.
    public var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Stops the delivery: no call begins after this has returned.
    ///
    /// It waits for nobody, so a call that has begun by then goes on. Further calls do nothing.
    public func cancel() {
        end()
        board?.remove(self)
    }

    /// Ends the delivery.
    func end() {
        let waiter = state.withLock { state in
            defer { state = State(hasBegun: true, isCancelled: true) }
            return state.waiter
        }
        waiter?(nil)
    }

    /// Takes a graph in.
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
            state.newest = graph
            guard onChange != nil, !state.isCalling else { return (nil, false) }
            state.isCalling = true
            return (nil, true)
        }
        waiter?(graph)
        if isToCall { Task { call() } }
    }

    /// Calls the callback until there is nothing newer.
    private func call() {
        while let graph = next() { onChange?(graph) }
    }

    private func next() -> PresenceGraph? {
        state.withLock { state in
            defer { state.newest = nil }
            if state.newest == nil { state.isCalling = false }
            return state.newest
        }
    }

    /// Calls `waiter` with the newest graph, or the next one; with none when there will be none, and for
    /// whoever comes while somebody else waits.
    fileprivate func take(_ waiter: @escaping @Sendable (PresenceGraph?) -> Void) {
        let graph: PresenceGraph?? = state.withLock { state in
            if let newest = state.newest {
                state.newest = nil
                return .some(newest)
            }
            if state.isCancelled || state.waiter != nil { return .some(nil) }
            state.waiter = waiter
            return .none
        }
        if let graph { waiter(graph) }
    }
}

/// Who is there, one graph after the other as it changes.
///
///     for await graph in peer.presence.observe() {
///         show(graph.remotePeers.map(\.deviceName))
///     }
///
/// The first is the graph as it is. Who takes longer than the next change gets the newest one. The sequence ends
/// when the peer is closed or the observer is cancelled; and the observer is cancelled with the task, or when
/// nobody holds the sequence any more. One loop at a time goes over it.
public struct PresenceObservation: AsyncSequence, Sendable {
    public typealias Element = PresenceGraph
    public typealias Failure = Never

    /// Cancelling it ends the sequence.
    public let observer: PresenceObserver
    private let end: End

    /// Cancels the observer when the last copy goes.
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

    /// Waits for one graph after the other.
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
                    observer.take { continuation.resume(returning: $0) }
                }
            } onCancel: {
                observer.cancel()
            }
        }
    }
}
