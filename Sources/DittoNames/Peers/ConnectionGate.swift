package import Sheaf
import Synchronization

/// The handler that accepts or denies connections asynchronously.
package final class ConnectionRequests: Sendable {
    package typealias Handler = @Sendable (PeerIdentity, PeerConnectionKind) async -> Bool

    /// The handler in a struct: a bare closure in a `Mutex` gains a thunk on each access.
    private struct Current: Sendable {
        var handler: Handler?
    }

    private let current = Mutex(Current())

    package init() {}

    package var handler: Handler? {
        get { current.withLock { $0.handler } }
        set { current.withLock { $0.handler = newValue } }
    }
}

/// A transport host that holds connections until the handler has accepted them.
///
/// Neither the transport nor the peer is blocked: received bytes are buffered. They are few, since
/// a peer sends only its hello before it receives one.
package final class ConnectionGate: PeerTransportHost {
    private weak let host: (any PeerTransportHost)?
    private let requests: ConnectionRequests
    private let timeout: Duration

    /// Maximum time for the handler to decide; after it, the connection is refused.
    package static let timeout = Duration.seconds(10)

    package init(
        _ host: any PeerTransportHost, _ requests: ConnectionRequests,
        timeout: Duration = ConnectionGate.timeout
    ) {
        self.host = host
        self.requests = requests
        self.timeout = timeout
    }

    package func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
        guard let handler = requests.handler else { return host?.connected(connection) }
        let link = GatedConnectionHandler(connection, host)
        Task { [timeout] in
            link.decide(
                refusal: await Self.refusal(by: handler, of: connection, within: timeout))
        }
        return link
    }

    package var metadata: Object { host?.metadata ?? Object() }

    package var busyPollMicroseconds: Int { host?.busyPollMicroseconds ?? 0 }

    package func report(_ event: PeerTransportEvent) {
        host?.report(event)
    }

    package func addressesChanged() {
        host?.addressesChanged()
    }

    package func refuse(_ connection: any PeerConnection, because reason: String) {
        host?.refuse(connection, because: reason)
    }

    /// Returns the reason why the handler refuses a connection, or nil if it accepts.
    private static func refusal(
        by handler: @escaping ConnectionRequests.Handler, of connection: any PeerConnection,
        within timeout: Duration
    ) async -> String? {
        await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await handler(connection.remote, connection.kind) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            let key = connection.remote.key
            guard let first else {
                return "connectionRequestHandler did not decide on the connection to \(key) "
                    + "within \(timeout.components.seconds) s"
            }
            return first ? nil : "connectionRequestHandler denied \(key)"
        }
    }
}

/// A connection that awaits the decision of the handler.
private final class GatedConnectionHandler: PeerConnectionHandler {
    private struct State: Sendable {
        var pieces: [[UInt8]] = []
        var length = 0
        var handler: (any PeerConnectionHandler)?
        /// Whether a thread is passing bytes on; other threads queue theirs, which keeps the order.
        var isPassing = false
        var isOver = false
        var end: String?
    }

    private let connection: any PeerConnection
    private weak let host: (any PeerTransportHost)?
    private let state = Mutex(State())
    /// Maximum number of bytes buffered until the decision; a hello is much shorter.
    private static let mostLength = 1 << 16

    init(_ connection: any PeerConnection, _ host: (any PeerTransportHost)?) {
        self.connection = connection
        self.host = host
    }

    /// Passes the connection to the host, or closes it if it is refused.
    func decide(refusal: String?) {
        guard !state.withLock({ $0.isOver || $0.end != nil }) else { return }
        if let refusal { return refuse(refusal) }
        guard let host else { return closeWithoutHost() }
        guard let handler = host.connected(connection) else {
            // A host that returns nil has closed the connection and reported the reason.
            state.withLock { ($0.isOver, $0.pieces) = (true, []) }
            return connection.close(because: "this peer refused the connection")
        }
        state.withLock { state in
            state.handler = handler
            state.isPassing = true
        }
        passOn(handler)
    }

    /// Closes the connection; the host reports the reason.
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
        let (handler, isTooMuch): ((any PeerConnectionHandler)?, Bool) = state.withLock { state in
            guard !state.isOver else { return (nil, false) }
            state.pieces.append(Array(bytes))
            state.length += bytes.count
            guard let handler = state.handler else {
                let isTooMuch = state.length > Self.mostLength
                if isTooMuch { (state.isOver, state.pieces) = (true, []) }
                return (nil, isTooMuch)
            }
            guard !state.isPassing else { return (nil, false) }
            state.isPassing = true
            return (handler, false)
        }
        if isTooMuch {
            refuse(
                "the peer sent more than \(Self.mostLength) bytes before connectionRequestHandler decided"
            )
        }
        if let handler { passOn(handler) }
    }

    func drained() {
        state.withLock(\.handler)?.drained()
    }

    func closed(_ reason: String) {
        let handler: (any PeerConnectionHandler)? = state.withLock { state in
            state.end = reason
            guard let handler = state.handler, !state.isPassing else { return nil }
            state.isPassing = true
            return handler
        }
        if let handler { passOn(handler) }
    }

    private func passOn(_ handler: any PeerConnectionHandler) {
        while true {
            let (pieces, end): ([[UInt8]], String?) = state.withLock { state in
                defer { state.pieces = [] }
                guard state.pieces.isEmpty else { return (state.pieces, nil) }
                state.isPassing = state.end != nil
                return ([], state.end)
            }
            for piece in pieces { piece.span.withUnsafeBytes { handler.received($0) } }
            guard pieces.isEmpty else { continue }
            if let end { handler.closed(end) }
            return
        }
    }
}
