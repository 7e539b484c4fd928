import SheafReplication
import SheafSync
import SheafTransport
import Synchronization

/// The newest presence graph, with its observers and listeners.
final class PresenceRegistry: Sendable {
    private struct State: Sendable {
        var graph: PresenceGraph
        var observers: [PresenceRegistration] = []
        var isClosed = false
        /// The listener for the events of transports and connections.
        var onTransportEvent: (@Sendable (PeerTransportEvent) -> Void)?
        /// The listener for key conflicts.
        var listener: (@Sendable (PeerKeyConflict) -> Void)?
        /// The last key conflict.
        var conflict: PeerKeyConflict?
    }

    private let state: Mutex<State>

    /// Creates a registry whose graph contains the local peer only.
    init(_ identity: Replicator.Identity) {
        let record = PeerRecord(
            key: identity.peerKey, version: PeerRecord.Version(opening: 0, salt: 0, count: 0),
            Replicator.portrait(of: identity), neighbors: [])
        state = Mutex(State(graph: PresenceGraph([record])))
    }

    var graph: PresenceGraph { state.withLock(\.graph) }

    /// Replaces the graph and notifies observers if it has changed.
    func update(_ records: [PeerRecord], disconnected: [DisconnectedPeer]) {
        let graph = PresenceGraph(records, disconnected: disconnected)
        let observers: [PresenceRegistration] = state.withLock { state in
            guard state.graph != graph, !state.isClosed else { return [] }
            state.graph = graph
            return state.observers
        }
        for observer in observers { observer.put(graph) }
    }

    /// Sets the listener for events of transports and connections.
    func onTransportEvent(_ listener: (@Sendable (PeerTransportEvent) -> Void)?) {
        state.withLock { $0.onTransportEvent = listener }
    }

    /// Calls the listener with an event.
    func announce(_ event: PeerTransportEvent) {
        state.withLock(\.onTransportEvent)?(event)
    }

    /// Records a key conflict and calls the listener.
    func record(_ conflict: PeerKeyConflict) {
        let listener = state.withLock { state in
            state.conflict = conflict
            return state.listener
        }
        listener?(conflict)
    }

    /// Sets the listener for key conflicts, and calls it with the last one, if any.
    func listen(_ listener: (@Sendable (PeerKeyConflict) -> Void)?) {
        let conflict = state.withLock { state in
            state.listener = listener
            return state.conflict
        }
        if let conflict { listener?(conflict) }
    }

    /// Adds an observer, which gets the current graph first.
    func add(_ observer: PresenceRegistration) {
        let graph: PresenceGraph? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.observers.append(observer)
            return state.graph
        }
        guard let graph else { return observer.end() }
        // A concurrent update may have delivered a newer graph already.
        observer.put(graph, unlessThereIsOne: true)
    }

    func remove(_ observer: PresenceRegistration) {
        state.withLock { state in state.observers.removeAll { $0 === observer } }
    }

    /// Ends all observers.
    func close() {
        let observers = state.withLock { state in
            state.isClosed = true
            state.listener = nil
            state.onTransportEvent = nil
            defer { state.observers = [] }
            return state.observers
        }
        for observer in observers { observer.end() }
    }
}
