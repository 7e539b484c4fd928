import Synchronization

/// Who is there.
public final class Presence: Sendable {
    /// A peer that there is a connection to.
    public struct RemotePeer: Sendable, Hashable {
        public let key: PeerKey
        public let deviceName: String
        public let isServer: Bool
    }

    private struct State: Sendable {
        var handler: (@Sendable (PeerIdentity) -> Bool)?
        var listener: (@Sendable (PeerTransportEvent) -> Void)?
    }

    /// By what others know this peer.
    public let key: PeerKey
    /// What others see this peer called.
    public let deviceName: String
    private let board: SyncBoard
    private let state = Mutex(State())

    init(_ configuration: PeerConfiguration, _ board: SyncBoard) {
        key = configuration.key
        deviceName = configuration.deviceName
        self.board = board
    }

    /// The peers that there are connections to.
    public var connectedPeers: [RemotePeer] {
        board.connected.map { key, status in
            RemotePeer(
                key: PeerKey(unchecked: key), deviceName: status.name, isServer: status.isServer)
        }
    }

    /// Asks `handler` of each connection whether to take it; it must return soon.
    ///
    /// Without one, all are taken that the transport takes.
    public func onConnectionRequest(_ handler: (@Sendable (PeerIdentity) -> Bool)?) {
        state.withLock { $0.handler = handler }
    }

    /// Tells what transports have to say: where they listen, whom they refuse, and whom they cannot reach.
    public func onTransportEvent(_ listener: (@Sendable (PeerTransportEvent) -> Void)?) {
        state.withLock { $0.listener = listener }
    }

    func allows(_ identity: PeerIdentity) -> Bool {
        state.withLock(\.handler)?(identity) ?? true
    }

    func note(_ event: PeerTransportEvent) {
        state.withLock(\.listener)?(event)
    }
}
