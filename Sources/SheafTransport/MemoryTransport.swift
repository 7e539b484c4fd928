import Synchronization

/// An in-process network of peers, for tests and for programs with several stores.
///
///     let network = MemoryNetwork()
///     let configuration = PeerConfiguration(
///         databaseID: "cars", key: key, transports: [network.transport(for: key)])
public final class MemoryNetwork: Sendable {
    private struct Pair: Hashable {
        let left: PeerKey
        let right: PeerKey

        init(_ one: PeerKey, _ other: PeerKey) {
            let isInOrder = one.bytes.lexicographicallyPrecedes(other.bytes)
            (left, right) = isInOrder ? (one, other) : (other, one)
        }
    }

    private struct State: Sendable {
        var members: [PeerKey: Member] = [:]
        var open: [Pair: MemoryWire] = [:]
        /// The disconnected pairs if `connectsAll`, otherwise the connected ones.
        var exceptions: Set<Pair> = []
    }

    private let connectsAll: Bool
    private let state = Mutex(State())

    /// Creates a network that connects all peers, or only pairs passed to `connect(_:_:)`.
    public init(connectsAll: Bool = true) {
        self.connectsAll = connectsAll
    }

    /// Returns the transport of one peer; `rights` limits what it reads and writes at all others.
    public func transport(for key: PeerKey, rights: PeerRights? = nil) -> any PeerTransport {
        MemoryTransport(self, key, rights)
    }

    /// Connects two peers, immediately or as soon as both are started.
    public func connect(_ one: PeerKey, _ other: PeerKey) {
        state.withLock { state in
            _ =
                connectsAll
                ? state.exceptions.remove(Pair(one, other))
                : state.exceptions.insert(Pair(one, other)).memberAfterInsert
        }
        open(one, other)
    }

    /// Ends the connection between two peers and prevents new ones.
    public func disconnect(_ one: PeerKey, _ other: PeerKey) {
        let wire = state.withLock { state in
            _ =
                connectsAll
                ? state.exceptions.insert(Pair(one, other)).memberAfterInsert
                : state.exceptions.remove(Pair(one, other))
            return state.open.removeValue(forKey: Pair(one, other))
        }
        wire?.cut("the peers were disconnected")
    }

    fileprivate func add(_ key: PeerKey, _ member: Member) {
        let others = state.withLock { state in
            state.members[key] = member
            return state.members.keys.filter { $0 != key }
        }
        for other in others { open(key, other) }
    }

    /// Opens no more connections of a member.
    fileprivate func close(_ key: PeerKey) {
        state.withLock { $0.members[key] = nil }
    }

    fileprivate func remove(_ key: PeerKey) {
        let wires = state.withLock { state in
            state.members[key] = nil
            let pairs = state.open.keys.filter { $0.left == key || $0.right == key }
            return pairs.compactMap { state.open.removeValue(forKey: $0) }
        }
        for wire in wires { wire.cut("the peer has stopped") }
    }

    private func open(_ one: PeerKey, _ other: PeerKey) {
        let pair = Pair(one, other)
        let found: (MemoryWire, Member, Member)? = state.withLock { state in
            guard connectsAll != state.exceptions.contains(pair), state.open[pair] == nil,
                let left = state.members[pair.left], let right = state.members[pair.right]
            else { return nil }
            let wire = MemoryWire(pair.left, pair.right) { [weak self] wire in
                self?.state.withLock { state in
                    if state.open[pair] === wire { state.open[pair] = nil }
                }
            }
            state.open[pair] = wire
            return (wire, left, right)
        }
        guard let (wire, left, right) = found else { return }
        wire.begin(left, right)
    }
}

/// A started peer of a network.
private struct Member: Sendable {
    let host: any PeerTransportHost
    /// The rights of the peer at all others; nil if unlimited.
    let rights: PeerRights?
}

private final class MemoryTransport: PeerTransport {
    private let network: MemoryNetwork
    private let key: PeerKey
    private let rights: PeerRights?

    init(_ network: MemoryNetwork, _ key: PeerKey, _ rights: PeerRights?) {
        self.network = network
        self.key = key
        self.rights = rights
    }

    func start(_ host: any PeerTransportHost) {
        network.add(key, Member(host: host, rights: rights))
    }

    func stop() {
        network.remove(key)
    }

    func stopAccepting() {
        network.close(key)
    }
}

/// A connection between two peers of one process.
private final class MemoryWire: Sendable {
    private struct End: Sendable {
        var handler: (any PeerConnectionHandler)?
        /// Messages to be delivered, from the index `next` on.
        var early: [[UInt8]] = []
        var next = 0
        /// Whether a thread is delivering or `begin` is running; other threads only append.
        var isSender = true
        /// Whether messages are delivered to this end.
        var isReading = true
        /// Number of bytes to be delivered.
        var length = 0

        mutating func removeFirst() -> [UInt8] {
            let message = early[next]
            early[next] = []
            next += 1
            length -= message.count
            if next == early.count { (early, next) = ([], 0) }
            return message
        }
    }

    private struct State: Sendable {
        var ends = [End(), End()]
        var isOpen = true
    }

    private let keys: [PeerKey]
    private let state = Mutex(State())
    private let onEnd: @Sendable (MemoryWire) -> Void

    init(_ left: PeerKey, _ right: PeerKey, onEnd: @escaping @Sendable (MemoryWire) -> Void) {
        keys = [left, right]
        self.onEnd = onEnd
    }

    func begin(_ left: Member, _ right: Member) {
        let members = [left, right]
        for (end, member) in members.enumerated() {
            let other = members[1 - end]
            let remote = PeerIdentity(
                key: keys[1 - end], address: "memory", rights: other.rights,
                metadata: other.host.metadata)
            let connection = MemoryConnection(
                self, end, remote: remote, ownRights: member.rights)
            guard let handler = member.host.connected(connection) else {
                return cut("the connection was refused")
            }
            let isOpen = state.withLock { state in
                state.ends[end].handler = handler
                return state.isOpen
            }
            guard isOpen else { return handler.closed("the connection was ended") }
            deliver(to: end, handler)
        }
    }

    func send(_ bytes: [UInt8], to end: Int) {
        let handler: (any PeerConnectionHandler)? = state.withLock { state in
            guard state.isOpen else { return nil }
            state.ends[end].early.append(bytes)
            state.ends[end].length += bytes.count
            guard !state.ends[end].isSender, state.ends[end].isReading else { return nil }
            state.ends[end].isSender = true
            return state.ends[end].handler
        }
        if let handler { deliver(to: end, handler) }
    }

    private func deliver(to end: Int, _ handler: any PeerConnectionHandler) {
        while true {
            // The handler may stop the reading after each message.
            let message: [UInt8]? = state.withLock { state in
                guard state.ends[end].isReading, state.ends[end].next < state.ends[end].early.count
                else {
                    state.ends[end].isSender = false
                    return nil
                }
                return state.ends[end].removeFirst()
            }
            guard let message else { return }
            message.span.withUnsafeBytes { handler.received($0) }
        }
    }

    /// Begins or stops the delivery to an end.
    func setReading(_ isReading: Bool, at end: Int) {
        let handler: (any PeerConnectionHandler)? = state.withLock { state in
            guard state.isOpen else { return nil }
            state.ends[end].isReading = isReading
            guard isReading, !state.ends[end].isSender else { return nil }
            state.ends[end].isSender = true
            return state.ends[end].handler
        }
        if let handler { deliver(to: end, handler) }
    }

    /// Number of bytes that wait for an end.
    func length(at end: Int) -> Int { state.withLock { $0.ends[end].length } }

    func cut(_ reason: String) { closeConnection([reason, reason]) }

    /// Ends the connection, with one reason for each end.
    func closeConnection(_ reasons: [String]) {
        let handlers: [(any PeerConnectionHandler)?] = state.withLock { state in
            guard state.isOpen else { return [] }
            state.isOpen = false
            defer { state.ends = [End(), End()] }
            return state.ends.map(\.handler)
        }
        for (handler, reason) in zip(handlers, reasons) { handler?.closed(reason) }
        onEnd(self)
    }
}

private final class MemoryConnection: PeerConnection {
    private let wire: MemoryWire
    private let end: Int
    let remote: PeerIdentity
    let ownRights: PeerRights?

    init(_ wire: MemoryWire, _ end: Int, remote: PeerIdentity, ownRights: PeerRights?) {
        self.wire = wire
        self.end = end
        self.remote = remote
        self.ownRights = ownRights
    }

    func send(_ bytes: [UInt8]) {
        wire.send(bytes, to: 1 - end)
    }

    var kind: PeerConnectionKind { .memory }
    var queuedLength: Int { wire.length(at: 1 - end) }

    func setReading(_ isReading: Bool) {
        wire.setReading(isReading, at: end)
    }

    func close(because reason: String) {
        let other = "the other side closed the connection"
        wire.closeConnection(end == 0 ? [reason, other] : [other, reason])
    }
}
