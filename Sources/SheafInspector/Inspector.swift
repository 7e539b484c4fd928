public import Sheaf
public import SheafStore
import SheafSystem
import Synchronization

/// A web server that shows a store, and what its log and its peers know about it, in a browser.
///
///     let inspector = try await Inspector.start(peer, port: 0)
///     print(inspector.url)
///     await inspector.stop()
///
/// It listens on a loopback address, and answers only requests with the token of `url`, which
/// differs with each start. It costs the store nothing while no browser is connected. It ends
/// when it is released, so it must be kept.
public final class Inspector: Sendable {
    private let server: Mutex<HTTPServer?>
    private let changes: ChangeFollower
    private let host: String
    /// Whether only programs on this machine can connect.
    public let isLoopback: Bool
    private let token: AccessToken
    /// The port that the inspector listens on.
    public let port: UInt16

    private init(
        _ subject: InspectedStore, _ address: ListeningAddress, _ options: InspectorOptions
    ) throws(InspectorError) {
        let token = AccessToken()
        let changes = ChangeFollower(subject.store, options.limits)
        let routes = Routes(
            subject, changes, options.limits, at: address, token,
            statementSeconds: options.statementSeconds)
        let server = try HTTPServer(at: address, routes, limits: options.limits)
        routes.open(on: server.port)
        (self.changes, self.token, port) = (changes, token, server.port)
        host = address.isWildcard ? (address.isIPv6 ? "[::1]" : "127.0.0.1") : address.host
        isLoopback = address.isLoopback
        self.server = Mutex(server)
    }

    /// Starts an inspector of a store; port 0 is any free port.
    public static nonisolated(nonsending) func start(
        _ store: Store, port: UInt16 = 0, options: InspectorOptions = InspectorOptions()
    ) async throws -> Inspector {
        try await start(InspectedStore(store, nil, isWritable: options.isWritable), port, options)
    }

    /// Starts an inspector of a peer and its store; port 0 is any free port.
    public static nonisolated(nonsending) func start(
        _ peer: Peer, port: UInt16 = 0, options: InspectorOptions = InspectorOptions()
    ) async throws -> Inspector {
        try await start(
            InspectedStore(peer.store, peer, isWritable: options.isWritable), port, options)
    }

    private static nonisolated(nonsending) func start(
        _ subject: InspectedStore, _ port: UInt16, _ options: InspectorOptions
    ) async throws -> Inspector {
        guard let address = ListeningAddress(options.address, port: port) else {
            throw InspectorError(
                "the inspector cannot listen on '\(options.address)': it is not a numeric address, "
                    + "such as 127.0.0.1 or ::1")
        }
        guard !options.isWritable || !subject.store.isReadOnly else {
            throw InspectorError(
                "the inspector cannot write: the store was opened for reading only")
        }
        return try await Thread.run(name: "sheaf-inspect") {
            Result { () throws(InspectorError) in try Inspector(subject, address, options) }
        }.get()
    }

    /// The URL that opens the page in a browser, with the token.
    public var url: String { "http://\(host):\(port)/?token=\(token.text)" }

    /// Ends all connections and the server; further calls do nothing.
    public nonisolated(nonsending) func stop() async {
        guard let server = takeServer() else { return }
        let changes = changes
        let stop: @Sendable () -> Void = {
            server.stop()
            changes.stop()
        }
        // If no thread can be created, the calling one waits.
        do { try await Thread.run(name: "sheaf-inspect", stop) } catch { stop() }
    }

    deinit {
        guard let server = takeServer() else { return }
        let changes = changes
        // The last reference may be released by a request of the server, for which `stop` waits.
        _ = try? Thread(name: "sheaf-inspect") {
            server.stop()
            changes.stop()
        }
    }

    private func takeServer() -> HTTPServer? {
        server.withLock { server in
            defer { server = nil }
            return server
        }
    }
}

/// Options of an inspector.
public struct InspectorOptions: Sendable {
    /// The numeric address that the inspector listens on; by default `127.0.0.1`.
    ///
    /// There is no encryption, so an address that other machines reach exposes the token and all
    /// data to the network.
    public var address: String

    /// Whether statements that write are executed; by default they are refused.
    public var isWritable: Bool

    /// Number of seconds after which a statement is canceled.
    package var statementSeconds = 30

    /// Limits of the server.
    package var limits = ServerLimits()

    /// Creates options.
    public init(address: String = "127.0.0.1", isWritable: Bool = false) {
        self.address = address
        self.isWritable = isWritable
    }
}
