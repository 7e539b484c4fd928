import SheafQuery
import SheafReplication
import SheafStorage
import Synchronization

/// The registration of a callback or a sequence for changes of the presence graph.
///
/// A slow observer gets the newest graph and misses those in between. The registry retains it, and
/// callers have a `PresenceObserver`, whose release cancels it.
final class PresenceRegistration: Sendable {
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
    var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Stops the delivery: no callback begins after this returns.
    ///
    /// It does not wait for a running callback. Further calls have no effect.
    func cancel() {
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
    func requestNext(_ waiter: @escaping @Sendable (PresenceGraph?) -> Void) {
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
