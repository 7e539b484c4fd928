public import SheafDocument

/// A carrier of bytes between peers.
///
/// A transport makes or accepts connections, authenticates the other end, and passes each
/// connection to its host. It does not interpret the bytes.
public protocol PeerTransport: Sendable {
    /// Begins to listen and to connect; passes every connection to `host`.
    func start(_ host: any PeerTransportHost) throws
    /// Ends all connections; no call to the host begins after it returns.
    func stop()
    /// Accepts no more connections until the next start; those that are open remain.
    func stopAccepting()
    /// Turns discovery on or off; it is off until the first call.
    func setDiscovery(_ discovery: PeerDiscovery)
    /// Where other machines can connect to this peer; empty unless discovery is on.
    ///
    /// The transport reports changes with `PeerTransportHost.addressesChanged()`.
    var addresses: [PeerAddress] { get }
    /// Replaces the peers that have published their addresses; used only while discovery is on.
    ///
    /// The addresses may be forged. The transport connects to as many of these peers as it permits,
    /// and accepts no other peer in place of the one with the key.
    func propose(_ peers: [PeerKey: [PeerAddress]])
}

extension PeerTransport {
    /// Does nothing: the transport accepts no connections.
    public func stopAccepting() {}
    /// Does nothing: the transport finds no peers by itself.
    public func setDiscovery(_ discovery: PeerDiscovery) {}
    /// None.
    public var addresses: [PeerAddress] { [] }
    /// Does nothing: the transport does not connect to addresses.
    public func propose(_ peers: [PeerKey: [PeerAddress]]) {}
}

/// An IP address and a port on which a peer accepts connections.
public struct PeerAddress: Hashable, Sendable {
    /// The bytes of the IP address, 4 or 16, the most significant first.
    public let bytes: [UInt8]
    /// The port.
    public let port: UInt16

    /// Creates an address; returns nil unless there are 4 or 16 bytes.
    public init?(_ bytes: [UInt8], port: UInt16) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
        self.port = port
    }
}

/// Where a transport looks for peers by itself.
public enum PeerDiscovery: Sendable, Hashable {
    /// Nowhere; peers are only found by their configured addresses.
    case off
    /// On the networks of this machine's interfaces, by multicast DNS, and at the addresses that
    /// connected peers report of others.
    ///
    /// Peers also publish their own addresses to all peers of the mesh, for networks without
    /// multicast.
    ///
    /// Only hosts that know the shared key or the key of the authority recognize the database and
    /// the peer in an announcement; in development mode, hosts that guess the database id.
    case localNetwork
}

/// The receiver of a transport's connections and events, implemented by the peer.
public protocol PeerTransportHost: AnyObject, Sendable {
    /// Accepts an authenticated connection and returns its handler, or refuses it and returns nil.
    func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)?
    /// The metadata that this peer presents to each connected peer.
    var metadata: Object { get }
    /// The time in microseconds in which a thread of the transport looks for work before it sleeps.
    var busyPollMicroseconds: Int { get }
    /// Reports a transport event, such as a refused connection or an unreachable address.
    func report(_ event: PeerTransportEvent)
    /// Reports that a connection was refused on this side, with the reason, and closes it.
    ///
    /// The reason is not sent to the other side.
    func refuse(_ connection: any PeerConnection, because reason: String)
    /// Handles a change of `PeerTransport.addresses`.
    func addressesChanged()
}

extension PeerTransportHost {
    /// No metadata.
    public var metadata: Object { Object() }

    /// None: a thread without work sleeps at once.
    public var busyPollMicroseconds: Int { 0 }

    /// Does nothing: the host does not publish addresses.
    public func addressesChanged() {}

    /// Reports the refusal as an event, and closes the connection.
    public func refuse(_ connection: any PeerConnection, because reason: String) {
        report(.refused(address: connection.remote.address, reason: reason))
        connection.close(because: reason)
    }
}

/// One end of an open connection: a byte stream in chunks of any length.
public protocol PeerConnection: AnyObject, Sendable {
    /// The identity of the other end, authenticated by the transport.
    var remote: PeerIdentity { get }
    /// The rights of this side at the other end; nil if unlimited.
    var ownRights: PeerRights? { get }
    /// The kind of transport.
    var kind: PeerConnectionKind { get }
    /// Queues bytes without blocking.
    func send(_ bytes: [UInt8])
    /// Begins or stops passing received bytes to the handler; at first they are passed.
    ///
    /// Without reading, the other end can send only as much as the system buffers. A few bytes that
    /// were received before are still passed. A reader that stops should begin again soon: the
    /// other end closes a connection on which it receives nothing.
    func setReading(_ isReading: Bool)
    /// Number of bytes queued and not sent yet.
    var queuedLength: Int { get }
    /// Sends the queued bytes and ends the connection; does not wait for a stalled peer.
    ///
    /// `reason` is passed to the handler and shown in lists of connections on this side; it is not
    /// sent.
    func close(because reason: String)
}

extension PeerConnection {
    /// Unlimited rights.
    public var ownRights: PeerRights? { nil }
    /// A transport without a case of its own.
    public var kind: PeerConnectionKind { .other }
    /// Does nothing: received bytes are always passed.
    public func setReading(_ isReading: Bool) {}
}

/// The kind of transport of a connection.
public enum PeerConnectionKind: UInt8, Sendable, Hashable {
    /// Any transport without a case of its own.
    case other = 0
    /// The memory of a process that contains both peers.
    case memory = 1
    /// TCP with TLS.
    case tcp = 2
}

extension PeerConnectionKind: CustomStringConvertible {
    /// The name of the kind, in lowercase.
    public var description: String {
        switch self {
        case .other: "other"
        case .memory: "memory"
        case .tcp: "tcp"
        }
    }
}

/// The handler of one connection; called by one thread at a time, and must not block.
public protocol PeerConnectionHandler: AnyObject, Sendable {
    /// Handles received bytes, which are valid only during the call.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// Handles the event that the send queue is empty again.
    func drained()
    /// Handles the end of the connection; no further call follows.
    func closed(_ reason: String)
}

/// The identity of the other end of a connection.
public struct PeerIdentity: Sendable, Hashable {
    /// The public key of the peer.
    public let key: PeerKey
    /// The readable address of the peer.
    public let address: String
    /// The rights of the peer on this side; nil if unlimited.
    public let rights: PeerRights?
    /// The metadata that the peer presents on this connection; at most 4,096 bytes as JSON.
    public let metadata: Object

    /// Creates an identity, for a transport.
    public init(
        key: PeerKey, address: String, rights: PeerRights? = nil, metadata: Object = Object()
    ) {
        self.key = key
        self.address = address
        self.rights = rights
        self.metadata = metadata
    }
}

/// The documents that a peer may read and write.
public struct PeerRights: Sendable, Hashable {
    /// Read conditions by collection, such as "owner = 'ann'"; other collections are unreadable.
    public let read: [String: String]
    /// Write conditions by collection; other collections are not writable.
    public let write: [String: String]

    /// Creates rights; a collection that is absent from both permits nothing.
    public init(read: [String: String], write: [String: String]) {
        self.read = read
        self.write = write
    }
}

/// An event of the transports or connections of a peer.
public enum PeerTransportEvent: Sendable {
    /// A transport listens on an address, whose port has been selected if it was 0.
    case listening(address: String)
    /// A connection was refused on this side.
    case refused(address: String, reason: String)
    /// An address could not be reached or refused this peer; the transport tries it again.
    case unreachable(address: String, reason: String, nextTryMilliseconds: Int)
    /// A connection was accepted; reported by the peer, not by a transport.
    case connected(PeerIdentity)
    /// A connection has ended, with the close reason or the transport error; reported by the peer.
    case disconnected(PeerIdentity, reason: String)
    /// Discovery cannot use a network interface; the transport tries again.
    case discoveryFailed(reason: String)
    /// The attempts to reach an address have ended: it is connected or not needed.
    case attemptsEnded(address: String)
}
