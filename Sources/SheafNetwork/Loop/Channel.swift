import SheafTransport

/// A socket and the stage of its connection; used by the loop only.
final class Channel {
    enum Stage {
        /// The system is connecting.
        case connecting
        case tlsHandshake(TLSSession)
        /// Both ends authenticate; `received` is the part of the current message received so far.
        case handshake(TLSSession, Handshake, received: [UInt8], key: PeerKey)
        case exchange(TLSSession, any PeerConnectionHandler, key: PeerKey)
        /// Queued bytes and a close alert are being sent; received bytes are ignored.
        case closeMessage(TLSSession)
        /// The close alert was sent; waiting for the peer to close.
        case silence
    }

    let identifier: UInt64
    let socket: Socket
    let address: String
    let role: Proof.Role
    /// The dialer that opened the connection; nil for an incoming one.
    let dialer: UInt64?
    let queue: OutgoingQueue
    let traffic = TrafficMeter()
    let sender: ConnectionSender
    let beganNanoseconds: UInt64
    private let changes: ChannelChanges
    /// Whether `changes` contains the channel.
    fileprivate var isListed = false
    var stage: Stage { didSet { changes.add(self) } }
    /// The monotonic time at which the stage times out.
    var deadlineNanoseconds: UInt64? { didSet { changes.add(self) } }
    /// The time at which the connection must end, in milliseconds since 1970.
    var endMilliseconds: UInt64? { didSet { changes.add(self) } }
    /// The times of the channel that were last added to the queues of times.
    var queuedStageEnd: UInt64?
    var queuedGrantEnd: UInt64?
    /// Whether connecting or the last TLS call needs the socket to become writable.
    var wantsToWrite = false { didSet { changes.add(self) } }
    /// Whether work is left for which the socket does not become ready.
    var isUnfinished = false { didSet { changes.add(self) } }
    var connectedNanoseconds: UInt64?
    /// Whether the peer has sent anything.
    var hasReceived = false
    /// The network that an incoming connection came from (`SocketAddress.network`).
    let network: [UInt8]
    /// The host that was dialed for a learned peer (`LearnedPeers`).
    var learnedHost: [UInt8]?
    /// The peer's key and the close error, set from sending the close alert until the peer closes.
    var parting: (key: PeerKey, error: NetworkError)?

    init(
        _ identifier: UInt64, _ socket: Socket, address: String, role: Proof.Role, dialer: UInt64?,
        stage: Stage, now: UInt64, limits: NetworkLimits, network: [UInt8] = [],
        in changes: ChannelChanges
    ) {
        self.changes = changes
        self.network = network
        self.identifier = identifier
        self.socket = socket
        self.address = address
        self.role = role
        self.dialer = dialer
        self.stage = stage
        queue = OutgoingQueue(limit: limits.queuedBytes)
        sender = ConnectionSender(queue, traffic)
        beganNanoseconds = now
        deadlineNanoseconds = now + UInt64(limits.handshakeMilliseconds) * 1_000_000
    }

    /// Whether the connection is incoming and has never been authenticated.
    var isUnknown: Bool { role == .listener && connectedNanoseconds == nil }

    /// The key of the peer while the connection is open.
    var talkingKey: PeerKey? {
        if case .exchange(_, _, let key) = stage { return key }
        return nil
    }
}

/// The channels that have changed since the loop last waited.
final class ChannelChanges {
    private var channels: [Channel] = []

    var isEmpty: Bool { channels.isEmpty }

    func add(_ channel: Channel) {
        guard !channel.isListed else { return }
        channel.isListed = true
        channels.append(channel)
    }

    /// Removes and returns the changed channels.
    func drain() -> [Channel] {
        defer { channels = [] }
        for channel in channels { channel.isListed = false }
        return channels
    }
}
