public import SheafDocument

/// What carries bytes between peers.
///
/// A transport finds or accepts connections, makes sure of who is at the other end, and hands each one
/// to its host. It never knows what the bytes mean.
public protocol PeerTransport: Sendable {
    /// Begins to listen and to connect; every connection goes to `host`.
    func start(_ host: any PeerTransportHost) throws
    /// Ends all connections; nothing is told to the host when it has returned.
    func stop()
}

/// Who takes connections: the peer.
public protocol PeerTransportHost: AnyObject, Sendable {
    /// The other end is known and may talk; the link hears of what comes. Nil where it is refused.
    func connected(_ connection: any PeerConnection) -> (any PeerLink)?
    /// What this peer says of itself to each peer that it connects with.
    var metadata: Object { get }
    /// What people should know: that nobody could be reached, or who was refused, and why.
    func report(_ event: PeerTransportEvent)
    /// Reports that a connection was refused on this side, with the reason, and closes it.
    ///
    /// The other side learns that it was refused, and not the reason.
    func refuse(_ connection: any PeerConnection, because reason: String)
}

extension PeerTransportHost {
    public var metadata: Object { Object() }

    public func refuse(_ connection: any PeerConnection, because reason: String) {
        report(.refused(address: connection.remote.address, reason: reason))
        connection.close(because: reason)
    }
}

/// One end of a connection that is open: bytes in order, in pieces of any length.
public protocol PeerConnection: AnyObject, Sendable {
    /// Who is at the other end, which the transport has proven.
    var remote: PeerIdentity { get }
    /// What this side may read and write at the other end; nil: everything.
    var ownRights: PeerRights? { get }
    /// What it goes over.
    var kind: PeerConnectionKind { get }
    /// Queues bytes; never waits. What is queued and not sent yet is counted in `queuedLength`.
    func send(_ bytes: [UInt8])
    var queuedLength: Int { get }
    /// Sends what is queued, then ends the connection; at once where the other end takes nothing.
    ///
    /// The link and the lists of connections on this side show `reason`; it is not sent.
    func close(because reason: String)
}

extension PeerConnection {
    public var ownRights: PeerRights? { nil }
    public var kind: PeerConnectionKind { .other }
}

/// What a connection goes over.
public enum PeerConnectionKind: UInt8, Sendable, Hashable {
    /// Something that has no name here.
    case other = 0
    /// The memory of a process that has both peers.
    case memory = 1
    /// TCP, with TLS.
    case tcp = 2
}

extension PeerConnectionKind: CustomStringConvertible {
    public var description: String {
        switch self {
        case .other: "other"
        case .memory: "memory"
        case .tcp: "tcp"
        }
    }
}

/// Who hears of one connection; called by one thread at a time, and must not wait.
public protocol PeerLink: AnyObject, Sendable {
    func received(_ bytes: UnsafeRawBufferPointer)
    /// The queue of what was sent is empty again, after `send` had left something in it.
    func drained()
    /// The connection has ended, for this reason; the last call.
    func closed(_ reason: String)
}

/// What a transport knows of the other end.
public struct PeerIdentity: Sendable, Hashable {
    /// 32 bytes: the public key, by which a peer is known.
    public let key: [UInt8]
    /// How it is reached, for people: an address.
    public let address: String
    /// What it may read and write here, by collection; nil: everything.
    public let rights: PeerRights?
    /// What the peer says of itself, over the connection on which it has proven its key: at most 4,096 bytes as JSON.
    public let metadata: Object

    public init(
        key: [UInt8], address: String, rights: PeerRights? = nil, metadata: Object = Object()
    ) {
        self.key = key
        self.address = address
        self.rights = rights
        self.metadata = metadata
    }
}

/// What a peer may see and change.
public struct PeerRights: Sendable, Hashable {
    /// For each collection a condition ("owner = 'ann'", or "true"); what is not named is forbidden.
    public let read: [String: String]
    public let write: [String: String]

    public init(read: [String: String], write: [String: String]) {
        self.read = read
        self.write = write
    }
}

/// What happens to the connections of a peer.
public enum PeerTransportEvent: Sendable {
    case listening(address: String)
    /// A connection was refused on this side.
    case refused(address: String, reason: String)
    case unreachable(address: String, reason: String, nextTryMilliseconds: Int)
    /// A connection was handed to the peer; sent by the peer, not by a transport.
    case connected(PeerIdentity)
    /// A connection has ended: what one side said as it closed it, or what the transport says. Sent by the peer.
    case disconnected(PeerIdentity, reason: String)
    /// No more attempts are made to reach an address: there is a connection, or none is wanted any more.
    case attemptsEnded(address: String)
}
