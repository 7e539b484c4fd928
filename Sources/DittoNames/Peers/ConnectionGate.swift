import Sheaf
import Synchronization

/// Whether a connection may be used, asked of somebody who may take a while.
final class ConnectionRequests: Sendable {
    typealias Handler = @Sendable (PeerIdentity, PeerConnectionKind) async -> Bool

    /// A closure that is in no type of its own would be wrapped once more with each look at it.
    private struct Current: Sendable {
        var handler: Handler?
    }

    private let current = Mutex(Current())

    var handler: Handler? {
        get { current.withLock { $0.handler } }
        set { current.withLock { $0.handler = newValue } }
    }
}

/// Keeps connections back until a handler has said that they may be used.
///
/// The transport is not kept waiting, nor is the peer: what comes meanwhile is kept, and that is not much,
/// since nobody says more than who he is before he is answered.
final class ConnectionGate: PeerTransportHost {
    private weak let host: (any PeerTransportHost)?
    private let requests: ConnectionRequests

    init(_ host: any PeerTransportHost, _ requests: ConnectionRequests) {
        self.host = host
        self.requests = requests
    }

    func connected(_ connection: any PeerConnection) -> (any PeerLink)? {
        guard let handler = requests.handler else { return host?.connected(connection) }
        let link = GatedLink(connection, host)
        Task { link.decide(refusal: await Self.refusal(by: handler, of: connection)) }
        return link
    }

    var metadata: Object { host?.metadata ?? Object() }

    func report(_ event: PeerTransportEvent) {
        host?.report(event)
    }

    func refuse(_ connection: any PeerConnection, because reason: String) {
        host?.refuse(connection, because: reason)
    }

    /// Maximum time for the handler to answer; then the connection is refused.
    private static let patience = Duration.seconds(10)

    /// Returns why the handler refuses a connection; nil if it allows it.
    private static func refusal(
        by handler: @escaping ConnectionRequests.Handler, of connection: any PeerConnection
    ) async -> String? {
        await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await handler(connection.remote, connection.kind) }
            group.addTask {
                try? await Task.sleep(for: patience)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            let key = PeerKey(connection.remote.key)?.description ?? "a peer"
            guard let first else {
                return
                    "connectionRequestHandler did not decide within 10 s on the connection of \(key)"
            }
            return first ? nil : "connectionRequestHandler denies \(key)"
        }
    }
}

/// A connection on which the handler has not decided yet.
private final class GatedLink: PeerLink {
    private struct State: Sendable {
        var pieces: [[UInt8]] = []
        var length = 0
        var link: (any PeerLink)?
        /// Whether a thread passes bytes to the link: other threads leave theirs to it, which keeps the order.
        var isTelling = false
        var isOver = false
        var end: String?
    }

    private let connection: any PeerConnection
    private weak let host: (any PeerTransportHost)?
    private let state = Mutex(State())
    /// Maximum number of bytes that are kept until the handler decides; a hello is far shorter.
    private static let mostLength = 1 << 16

    init(_ connection: any PeerConnection, _ host: (any PeerTransportHost)?) {
        self.connection = connection
        self.host = host
    }

    /// Hands the connection to the host, or ends it if it is refused.
    func decide(refusal: String?) {
        guard !state.withLock({ $0.isOver || $0.end != nil }) else { return }
        if let refusal { return refuse(refusal) }
        guard let host else { return closeWithoutHost() }
        guard let link = host.connected(connection) else {
            // A host that returns no link has ended the connection, and reported why.
            state.withLock { ($0.isOver, $0.pieces) = (true, []) }
            return connection.close(because: "this peer has refused the connection")
        }
        state.withLock { state in
            state.link = link
            state.isTelling = true
        }
        tell(link)
    }

    /// Ends the connection; the host reports why.
    private func refuse(_ reason: String) {
        guard let host else { return closeWithoutHost() }
        state.withLock { ($0.isOver, $0.pieces) = (true, []) }
        host.refuse(connection, because: reason)
    }

    private func closeWithoutHost() {
        state.withLock { ($0.isOver, $0.pieces) = (true, []) }
        connection.close(because: "this peer was closed while connectionRequestHandler decided")
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        let (link, isTooMuch): ((any PeerLink)?, Bool) = state.withLock { state in
            guard !state.isOver else { return (nil, false) }
            state.pieces.append(Array(bytes))
            state.length += bytes.count
            guard let link = state.link else {
                let isTooMuch = state.length > Self.mostLength
                if isTooMuch { (state.isOver, state.pieces) = (true, []) }
                return (nil, isTooMuch)
            }
            guard !state.isTelling else { return (nil, false) }
            state.isTelling = true
            return (link, false)
        }
        if isTooMuch {
            refuse(
                "the other side has sent more than \(Self.mostLength) bytes before connectionRequestHandler decided"
            )
        }
        if let link { tell(link) }
    }

    func drained() {
        state.withLock(\.link)?.drained()
    }

    func closed(_ reason: String) {
        let link: (any PeerLink)? = state.withLock { state in
            state.end = reason
            guard let link = state.link, !state.isTelling else { return nil }
            state.isTelling = true
            return link
        }
        if let link { tell(link) }
    }

    private func tell(_ link: any PeerLink) {
        while true {
            let (pieces, end): ([[UInt8]], String?) = state.withLock { state in
                defer { state.pieces = [] }
                guard state.pieces.isEmpty else { return (state.pieces, nil) }
                state.isTelling = state.end != nil
                return ([], state.end)
            }
            for piece in pieces { piece.span.withUnsafeBytes { link.received($0) } }
            guard pieces.isEmpty else { continue }
            if let end { link.closed(end) }
            return
        }
    }
}
