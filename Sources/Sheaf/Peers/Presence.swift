public import SheafDocument
public import SheafReplication
import SheafSync
public import SheafTransport
import Synchronization

/// The peers that are reachable, directly or through other peers.
///
///     try peer.presence.setMetadata(["role": "waiter"])
///     peer.presence.observe { graph in
///         for peer in graph.remotePeers { print(peer.deviceName, peer.metadata) }
///     }
///
/// Connected peers exchange the peers that they can reach, independently of subscriptions. While
/// sync is stopped, no peer is reachable.
public final class Presence: Sendable {
    /// A directly connected peer.
    public struct RemotePeer: Sendable, Hashable {
        /// The proven key of the peer.
        public let key: PeerKey
        /// The readable name that the peer presents.
        public let deviceName: String
        /// Whether the peer presents itself as a server.
        public let isServer: Bool
        /// The progress of documents that the peer sends, as in a first sync; nil if it sends none.
        public let receiving: SyncProgress?
        /// The progress of documents that are sent to the peer; nil if there are none.
        public let sending: SyncProgress?
    }

    private struct State: Sendable {
        var handler: (@Sendable (PeerIdentity) -> Bool)?
        var name: String
        var metadata = Object()
        /// The JSON encoding of `metadata`.
        var metadataBytes: [UInt8] = []
    }

    /// The key that identifies this peer.
    public let key: PeerKey
    /// The readable name of this peer's device.
    public var deviceName: String { state.withLock(\.name) }
    private let registry: ReplicationRegistry
    private let presences: PresenceRegistry
    private let loop: PeerLoop
    private let unreachable: UnreachableAddresses
    private let state: Mutex<State>

    /// Maximum number of JSON bytes of the metadata of a peer.
    public static let metadataLimit = PresenceLimits.metadataLength

    init(
        _ configuration: PeerConfiguration, _ registry: ReplicationRegistry,
        _ presences: PresenceRegistry,
        _ loop: PeerLoop, _ unreachable: UnreachableAddresses
    ) {
        self.unreachable = unreachable
        self.presences = presences
        self.loop = loop
        key = configuration.key
        state = Mutex(State(name: configuration.deviceName))
        self.registry = registry
    }

    /// The directly connected peers.
    public var connectedPeers: [RemotePeer] {
        registry.connected.map { key, status in
            RemotePeer(
                key: PeerKey(unchecked: key), deviceName: status.name, isServer: status.isServer,
                receiving: status.receiving, sending: status.sending)
        }
    }

    /// The addresses that transports cannot reach, with the reasons; also logged as warnings.
    public var unreachableAddresses: [UnreachableAddress] { unreachable.all }

    /// Peers without a connection and unreachable addresses, with the reasons; part of `graph`.
    public var disconnectedPeers: [DisconnectedPeer] { graph.disconnectedPeers }

    /// The reachable peers and their connections.
    public var graph: PresenceGraph { presences.graph }

    /// Calls `onChange` with the current graph and after each change, one call at a time.
    ///
    /// The observer ends when it is released, so it must be kept.
    public func observe(
        onChange: @escaping @Sendable (PresenceGraph) -> Void
    ) -> PresenceObserver {
        let registration = PresenceRegistration(presences, onChange)
        presences.add(registration)
        return PresenceObserver(registration)
    }

    /// Returns an asynchronous sequence of graphs, one for each change.
    public func observe() -> PresenceObservation {
        let registration = PresenceRegistration(presences, nil)
        presences.add(registration)
        return PresenceObservation(PresenceObserver(registration))
    }

    // MARK: Description of this peer

    /// The metadata that this peer presents to all others.
    public var metadata: Object { state.withLock(\.metadata) }

    /// Sets the metadata that this peer presents to all others, such as a role or a user name.
    ///
    /// The metadata must be representable as JSON of at most 4,096 bytes. It must not contain
    /// secrets, and is lost when the peer is closed.
    public func setMetadata(_ metadata: Object) throws {
        let bytes = Array(Value.object(metadata).json.utf8)
        guard bytes.count <= Self.metadataLimit else {
            throw StoreError(
                .limit,
                "the metadata of a peer has \(bytes.count) bytes as JSON; "
                    + "\(Self.metadataLimit) are allowed",
                hint: "store long values in a document, and its id in the metadata")
        }
        guard (try? Value(jsonBytes: bytes)) == .object(metadata) else {
            throw StoreError(
                .argument, "the metadata of a peer contains a value that JSON cannot represent",
                hint: "encode bytes as text, and use finite numbers")
        }
        state.withLock { state in
            state.metadata = metadata
            state.metadataBytes = bytes
            postDescription(state)
        }
    }

    /// Sets the device name, of which other peers receive at most 256 bytes.
    public func setDeviceName(_ name: String) {
        state.withLock { state in
            state.name = name
            postDescription(state)
        }
    }

    /// Posts the description to the replication thread, under the lock to keep the order.
    private func postDescription(_ state: borrowing State) {
        loop.post(.presented(name: state.name, metadata: state.metadataBytes))
    }

    /// Returns what is known of a peer that was a neighbor.
    func status(of key: PeerKey) -> ReplicationStatus? { registry.status(of: key.bytes) }

    /// Returns the counters of the connection to a neighbor.
    func traffic(with key: PeerKey) -> ConnectionTraffic? { registry.traffic(with: key.bytes) }

    func close() {
        presences.close()
    }

    // MARK: Connections

    /// Sets the handler that decides whether to accept a connection; it must return quickly.
    ///
    /// Without a handler, all connections accepted by the transport are accepted.
    public func onConnectionRequest(_ handler: (@Sendable (PeerIdentity) -> Bool)?) {
        state.withLock { $0.handler = handler }
    }

    /// Sets the listener for the events of transports and connections.
    ///
    /// The events report listening addresses, begun, refused and ended connections, and unreachable
    /// addresses.
    public func onTransportEvent(_ listener: (@Sendable (PeerTransportEvent) -> Void)?) {
        presences.onTransportEvent(listener)
    }

    /// Sets the listener for other peers that use the key of this one.
    ///
    /// It is called once, and every ten minutes while both peers are reachable. Reports about peers
    /// other than neighbors are not authenticated. The conflict is also logged as an error.
    public func onKeyConflict(_ listener: (@Sendable (PeerKeyConflict) -> Void)?) {
        presences.listen(listener)
    }

    func allows(_ identity: PeerIdentity) -> Bool {
        state.withLock(\.handler)?(identity) ?? true
    }

    func record(_ event: PeerTransportEvent) {
        if unreachable.record(event) { loop.post(.unreachableChanged) }
        presences.announce(event)
    }
}
