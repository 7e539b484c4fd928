import Sheaf

/// A socket on its way from a stranger to a peer, and out again; of the loop alone.
final class Channel {
    enum Stage {
        /// The system connects.
        case connecting
        case handshake(TLSSession)
        /// The other end says who it is: what came so far of what is wanted.
        case introduction(TLSSession, Introduction, received: [UInt8], key: [UInt8])
        case talk(TLSSession, any PeerLink, key: [UInt8])
        /// What was queued is sent, then a farewell; what comes is no longer heard.
        case farewell(TLSSession)
        /// The farewell is said; the other end has to close.
        case silence
    }

    let identifier: UInt64
    let socket: Socket
    let address: String
    let role: Proof.Role
    /// Who tries to connect here, if it is this end.
    let dialer: UInt64?
    let queue: OutgoingQueue
    let traffic = TrafficMeter()
    let outlet: Outlet
    let beganNanoseconds: UInt64
    var stage: Stage
    /// When the stage has to be over; monotonic.
    var deadlineNanoseconds: UInt64?
    /// When it has to end; milliseconds since 1970.
    var endMilliseconds: UInt64?
    /// What the last call of TLS needs to go on.
    var wantsToWrite = false
    /// Whether there is something to do that the socket does not tell of.
    var isUnfinished = false
    var connectedNanoseconds: UInt64?
    /// Whether something has come from the other end.
    var hasReceived = false
    /// Where an incoming connection comes from (`SocketAddress.network`).
    let network: [UInt8]
    /// The peer's key and the close error; set from the farewell until its answer.
    var parting: (key: [UInt8], error: NetworkError)?
    /// Where it is in what is waited for.
    var place: Int?

    init(
        _ identifier: UInt64, _ socket: Socket, address: String, role: Proof.Role, dialer: UInt64?,
        stage: Stage, now: UInt64, limits: NetworkLimits, network: [UInt8] = []
    ) {
        self.network = network
        self.identifier = identifier
        self.socket = socket
        self.address = address
        self.role = role
        self.dialer = dialer
        self.stage = stage
        queue = OutgoingQueue(limit: limits.queuedBytes)
        outlet = Outlet(queue, traffic)
        beganNanoseconds = now
        deadlineNanoseconds = now + UInt64(limits.handshakeMilliseconds) * 1_000_000
    }

    /// Whether it came from outside, and has never said who it is.
    var isUnknown: Bool { role == .listener && connectedNanoseconds == nil }

    /// Who is at the other end, while they talk.
    var talkingKey: [UInt8]? {
        if case .talk(_, _, let key) = stage { return key }
        return nil
    }
}
