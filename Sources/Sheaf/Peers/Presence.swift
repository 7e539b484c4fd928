public import SheafDocument
import SheafSync
import Synchronization

/// Who is there: the neighbors, and whoever can be reached over them.
///
///     try peer.presence.setMetadata(["role": "waiter"])
///     peer.presence.observe { graph in
///         for peer in graph.remotePeers { print(peer.deviceName, peer.metadata) }
///     }
///
/// Peers that are connected tell each other of all that they can reach, whatever they subscribe to. While sync is
/// stopped there is nobody.
public final class Presence: Sendable {
    /// A peer that there is a connection to.
    public struct RemotePeer: Sendable, Hashable {
        public let key: PeerKey
        public let deviceName: String
        public let isServer: Bool
    }

    private struct State: Sendable {
        var handler: (@Sendable (PeerIdentity) -> Bool)?
        var name: String
        var metadata = Object()
        /// The same as JSON.
        var metadataBytes: [UInt8] = []
    }

    /// By what others know this peer.
    public let key: PeerKey
    /// What others see this peer called.
    public var deviceName: String { state.withLock(\.name) }
    private let board: SyncBoard
    private let presences: PresenceBoard
    private let loop: PeerLoop
    private let unreachable: UnreachableAddresses
    private let state: Mutex<State>

    /// How many bytes of JSON the metadata of a peer may have.
    public static let metadataLimit = PresenceLimits.metadataLength

    init(
        _ configuration: PeerConfiguration, _ board: SyncBoard, _ presences: PresenceBoard,
        _ loop: PeerLoop, _ unreachable: UnreachableAddresses
    ) {
        self.unreachable = unreachable
        self.presences = presences
        self.loop = loop
        key = configuration.key
        state = Mutex(State(name: configuration.deviceName))
        self.board = board
    }

    /// The peers that there are connections to.
    public var connectedPeers: [RemotePeer] {
        board.connected.map { key, status in
            RemotePeer(
                key: PeerKey(unchecked: key), deviceName: status.name, isServer: status.isServer)
        }
    }

    /// The addresses that transports have tried to reach without success, with the reasons; the log has them as warnings.
    public var unreachableAddresses: [UnreachableAddress] { unreachable.all }

    /// The peers that this one was connected with or cannot reach, with the reasons; observers get them with the graph.
    public var disconnectedPeers: [DisconnectedPeer] { graph.disconnectedPeers }

    /// All peers that can be reached, and how they are connected.
    public var graph: PresenceGraph { presences.graph }

    /// Tells `onChange` who is there, at once and after each change, one call at a time.
    @discardableResult
    public func observe(
        onChange: @escaping @Sendable (PresenceGraph) -> Void
    ) -> PresenceObserver {
        let observer = PresenceObserver(presences, onChange)
        presences.add(observer)
        return observer
    }

    /// Who is there, one graph after the other as it changes.
    public func observe() -> PresenceObservation {
        let observer = PresenceObserver(presences, nil)
        presences.add(observer)
        return PresenceObservation(observer)
    }

    // MARK: What this peer says of itself

    /// What this peer says of itself to all others.
    public var metadata: Object { state.withLock(\.metadata) }

    /// Says something else of this peer to all others: a role, the name of a user, whatever is no secret.
    ///
    /// It has at most 4,096 bytes as JSON, and is what JSON can say. It is kept as long as the peer is open.
    public func setMetadata(_ metadata: Object) throws {
        let bytes = Array(Value.object(metadata).json.utf8)
        guard bytes.count <= Self.metadataLimit else {
            throw StoreError(
                .limit,
                "the metadata of a peer has \(bytes.count) bytes as JSON; "
                    + "\(Self.metadataLimit) are allowed",
                hint: "put what is longer into a document, and its id into the metadata")
        }
        guard (try? Value(jsonBytes: bytes)) == .object(metadata) else {
            throw StoreError(
                .argument, "the metadata of a peer has something that JSON cannot say",
                hint: "write bytes as a text, and no numbers that are not finite")
        }
        state.withLock { state in
            state.metadata = metadata
            state.metadataBytes = bytes
            tell(state)
        }
    }

    /// Calls this peer something else from now on; what is longer than 256 bytes is cut.
    public func setDeviceName(_ name: String) {
        state.withLock { state in
            state.name = name
            tell(state)
        }
    }

    /// Under the lock, so that the loop hears of changes in their order.
    private func tell(_ state: borrowing State) {
        loop.post(.presented(name: state.name, metadata: state.metadataBytes))
    }

    func close() {
        presences.close()
    }

    // MARK: Who may come

    /// Asks `handler` of each connection whether to take it; it must return soon.
    ///
    /// Without one, all are taken that the transport takes.
    public func onConnectionRequest(_ handler: (@Sendable (PeerIdentity) -> Bool)?) {
        state.withLock { $0.handler = handler }
    }

    /// Calls `listener` with what happens to connections: where transports listen, which connections begin, which are
    /// refused, which end, and which addresses cannot be reached, with the reasons.
    public func onTransportEvent(_ listener: (@Sendable (PeerTransportEvent) -> Void)?) {
        presences.onTransportEvent(listener)
    }

    /// Tells `listener` of another peer that has the key of this one: all the others take the two for one.
    ///
    /// It is told once, and again every ten minutes for as long as both are there. Like all that is known of
    /// peers that are no neighbors it is hearsay; the log of the store has it as well, as an error.
    public func onKeyConflict(_ listener: (@Sendable (PeerKeyConflict) -> Void)?) {
        presences.listen(listener)
    }

    func allows(_ identity: PeerIdentity) -> Bool {
        state.withLock(\.handler)?(identity) ?? true
    }

    func note(_ event: PeerTransportEvent) {
        if unreachable.note(event) { loop.post(.unreachableChanged) }
        presences.announce(event)
    }
}
