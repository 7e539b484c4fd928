public import Sheaf
public import SheafHubLog
import SheafInspector
import SheafStatements
import SheafSystem
import Synchronization

/// A hub: a peer that shares all documents of a database with other hubs, by a replicated log.
///
///     let hub = try await Hub.open(
///         at: "hub-1", configuration: configuration, engine: .nats(["nats://10.0.0.1:4222"]))
///     try hub.start()
///     try await hub.waitUntilReady()
///     await hub.drain()
///     try await hub.close()
///
/// Clients connect to any hub as to any peer, and to another one later. Documents that a hub has
/// acknowledged are stored by the engine, and by a second hub if one is live. The store of a hub
/// can be rebuilt from the log and the stores of other hubs. A hub accepts connections once it has
/// read everything that was in the log when it started.
public final class Hub: Sendable {
    /// The peer, whose store has all documents of the database.
    public let peer: Peer
    /// The server of `/live`, `/ready` and `/metrics`; nil without an address.
    private let server: Mutex<HealthServer?>
    /// The port that `/live`, `/ready` and `/metrics` are served on; nil if they are not.
    public let healthPort: UInt16?
    let threads: HubThreads
    let relay: HubLogRelay
    let file: ConfigurationFile
    let options: HubOptions

    private init(
        _ peer: Peer, _ log: OpenedLog, _ server: HealthServer?, _ options: HubOptions,
        _ report: @escaping @Sendable (HubStatus) -> Void
    ) throws {
        (self.peer, self.options) = (peer, options)
        (relay, file) = (log.relay, log.file)
        let threads = HubThreads(
            peer, log.relay, log.file, log.configuration, options, report)
        self.threads = threads
        healthPort = server?.port
        self.server = Mutex(server)
        // A document that is evicted before it is appended would be in no log.
        peer.store.queries.refuseEvictions()
        peer.store.queries.registeredCollections.register("hub") { [weak threads] in
            threads?.status.metrics ?? []
        }
        try peer.sync.registerSubscriptionToAllCollections()
        server?.setOpen(peer.store) { threads.status }
    }

    /// Opens the store in the directory at `path`, or creates one, and joins the hubs of the
    /// database in its configuration.
    ///
    /// The first hub of a database creates the log. The hub does not read it, and accepts no
    /// connections, before `start()`. `report` gets the status each time that the reasons for which
    /// the hub is not ready have changed. Canceling the task ends the wait for an engine that does
    /// not respond; meanwhile `/ready` shows the reason.
    public static nonisolated(nonsending) func open(
        at path: String, configuration: PeerConfiguration, engine: HubEngine,
        options: HubOptions = HubOptions(),
        report: @escaping @Sendable (HubStatus) -> Void = { _ in }
    ) async throws -> Hub {
        try await make(engine, configuration, options, report) { configuration in
            try await Peer.open(at: path, configuration: configuration)
        }
    }

    /// Opens a hub whose store is in memory.
    ///
    /// It loads a snapshot, and reads the log after it, at each start.
    public static nonisolated(nonsending) func inMemory(
        configuration: PeerConfiguration, engine: HubEngine, options: HubOptions = HubOptions(),
        report: @escaping @Sendable (HubStatus) -> Void = { _ in }
    ) async throws -> Hub {
        try await make(engine, configuration, options, report) { configuration in
            try await Peer.inMemory(configuration: configuration)
        }
    }

    private static nonisolated(nonsending) func make(
        _ engine: HubEngine, _ configuration: PeerConfiguration, _ options: HubOptions,
        _ report: @escaping @Sendable (HubStatus) -> Void,
        _ open: (PeerConfiguration) async throws -> Peer
    ) async throws -> Hub {
        let server = try options.healthAddress.map { address in
            try HealthServer(at: address, port: options.healthPort)
        }
        do {
            let log = try await OpenedLog.open(engine, configuration, options) {
                server?.setReason($0)
            }
            return try await make(log, server, configuration, options, report, open)
        } catch {
            server?.stop()
            throw error
        }
    }

    private static nonisolated(nonsending) func make(
        _ log: OpenedLog, _ server: HealthServer?, _ configuration: PeerConfiguration,
        _ options: HubOptions, _ report: @escaping @Sendable (HubStatus) -> Void,
        _ open: (PeerConfiguration) async throws -> Peer
    ) async throws -> Hub {
        var peerConfiguration = configuration
        peerConfiguration.isServer = true
        peerConfiguration.hubLog = SharedHubLog(log.relay, nil)
        let peer: Peer
        do { peer = try await open(peerConfiguration) } catch {
            await log.close()
            throw error
        }
        do {
            return try Hub(peer, log, server, options, report)
        } catch {
            try await peer.close()
            await log.close()
            throw error
        }
    }

    /// Loads snapshots if needed, reads the log, and then accepts connections; called once.
    public func start() throws {
        try threads.start()
    }

    /// Throws if a transport could not listen.
    package func checkIsListening() throws { try threads.checkIsListening() }

    /// The state of the hub, at most a quarter of a second old.
    public var status: HubStatus { threads.status }

    /// Waits until clients should use the hub; throws if it cannot listen, or is being closed.
    public nonisolated(nonsending) func waitUntilReady() async throws {
        let threads = threads
        try await Thread.run(name: "sheaf-hub-wait") {
            Result { try threads.waitUntilReady() }
        }.get()
    }

    /// Ends all connections and closes the store.
    ///
    /// Without `drain()` before it, clients send what was not acknowledged to another hub.
    public nonisolated(nonsending) func close() async throws {
        let (threads, server) = (threads, takeServer())
        let stop: @Sendable () -> Void = {
            server?.stop()
            threads.stop()
        }
        do { try await Thread.run(name: "sheaf-hub-close", stop) } catch { stop() }
        try await peer.close()
        let relay = relay
        do { try await Thread.run(name: "sheaf-hub-close") { relay.stop() } } catch { relay.stop() }
    }

    deinit {
        let (threads, server) = (threads, takeServer())
        // The last reference may be released by a thread that must not wait.
        _ = try? Thread(name: "sheaf-hub-close") {
            server?.stop()
            threads.stop()
        }
    }

    private func takeServer() -> HealthServer? {
        server.withLock { server in
            defer { server = nil }
            return server
        }
    }
}
