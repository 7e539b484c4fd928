import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
public import SheafTransport
import Synchronization

/// A store that replicates with other peers.
///
///     let peer = try await Peer.open(at: "cars.sheaf", configuration: configuration)
///     try await peer.sync.registerSubscription("SELECT * FROM cars WHERE color = 'red'")
///     try peer.sync.start()
///     try await peer.store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
///
/// Replication follows subscriptions: a peer receives the documents it subscribes to from all
/// connected peers, and forwards its documents to peers that subscribe to them.
public final class Peer: Sendable {
    /// The local store, which replication reads and writes.
    public let store: Store
    /// The subscriptions, and the replication progress of other peers.
    public let sync: PeerSync
    /// The reachable peers and the connections between them.
    public let presence: Presence
    let fetches: FetchRegistry
    private let loop: PeerLoop
    private let connections: PeerConnections

    private init(_ store: Store, _ configuration: PeerConfiguration) throws {
        guard 0...BusyPoll.maximumMicroseconds ~= configuration.busyPollMicroseconds else {
            throw StoreError(
                .argument,
                "the configuration of a peer has \(configuration.busyPollMicroseconds) as "
                    + "busyPollMicroseconds; it must be from 0 to \(BusyPoll.maximumMicroseconds)")
        }
        self.store = store
        let registry = ReplicationRegistry()
        registry.register(in: store.queries)
        fetches = FetchRegistry(store.attachments)
        let identity = Replicator.Identity(
            database: configuration.databaseID.hash,
            peerKey: configuration.key.bytes, isServer: configuration.isServer,
            name: configuration.deviceName)
        let presences = PresenceRegistry(identity)
        var limits = ReplicatorLimits()
        limits.receivedAttachments = max(0, configuration.attachmentQuota)
        if configuration.hubLog != nil { limits.inMemory = Self.hubInMemory }
        let unreachable = UnreachableAddresses(store.queries)
        loop = PeerLoop(
            store, registry, fetches, presences, unreachable, limits, configuration)
        fetches.connect { [weak loop] event in loop?.post(event) }
        presence = Presence(configuration, registry, presences, loop, unreachable)
        connections = PeerConnections(loop, presence, configuration)
        sync = PeerSync(store, loop, registry, configuration.transports, connections, unreachable)
        presence.registerRows(in: store.queries)
        sync.registerRows(in: store.queries)
        try loop.start(identity)
    }

    /// Number of bytes of unwritten batches that a hub keeps in memory for each of many clients.
    private static let hubInMemory = 256 << 10

    /// Opens the store in the directory at `path`, or creates one if there is none.
    ///
    /// The peer does not connect before `sync.start()`.
    public static nonisolated(nonsending) func open(
        at path: String, configuration: PeerConfiguration
    ) async throws -> Peer {
        guard !configuration.store.isReadOnly else {
            throw StoreError(
                .readOnly, "a peer writes received documents, so its store cannot be read-only",
                hint: "open a Store for read-only access")
        }
        let store = try await Store.open(at: path, options: configuration.store)
        return try await make(store, configuration)
    }

    /// Creates a peer with an in-memory store, discarded on close.
    public static nonisolated(nonsending) func inMemory(
        configuration: PeerConfiguration
    ) async throws -> Peer {
        try await make(try await Store.inMemory(options: configuration.store), configuration)
    }

    private static nonisolated(nonsending) func make(
        _ store: Store, _ configuration: PeerConfiguration
    ) async throws -> Peer {
        do {
            return try Peer(store, configuration)
        } catch {
            try await store.close()
            throw error
        }
    }

    /// The key that identifies this peer.
    public var key: PeerKey { presence.key }

    /// Where the transports look for peers by themselves; at first, nowhere.
    ///
    ///     peer.discovery = .localNetwork
    ///
    /// It can be changed at any time. With `.localNetwork`, this peer also publishes its addresses
    /// to all peers of the mesh, and connects to those that others publish. Found peers only become
    /// connected if they prove that they belong to the database, like those of configured
    /// addresses. A transport in development mode that allows no other machines finds none.
    public var discovery: PeerDiscovery {
        get { sync.discovery }
        set { sync.discovery = newValue }
    }

    /// Ends all connections, waits for pending transactions, and closes the store.
    ///
    /// A peer released without `close()` loses no data: its connections and threads end. Its
    /// directory can be opened again shortly after the last reference to the peer and its store is
    /// released.
    public nonisolated(nonsending) func close() async throws {
        sync.shutDown()
        fetches.close()
        do throws(ThreadRefused) {
            try await Thread.run(name: "sheaf-close") { [loop] in loop.stop() }
        } catch {
            throw StoreError(error)
        }
        presence.close()
        try await store.close()
    }

    deinit {
        sync.shutDown()
        fetches.close()
        presence.close()
        // This does not wait: the last reference may be released on the replication thread, or on
        // a thread that must not block.
        loop.beginStopping()
    }
}

/// The host of the transports: it passes connections and bytes to the replication thread.
final class PeerConnections: PeerTransportHost {
    private let loop: PeerLoop
    private let presence: Presence
    private let count = Atomic<UInt64>(0)

    let busyPollMicroseconds: Int

    init(_ loop: PeerLoop, _ presence: Presence, _ configuration: PeerConfiguration) {
        self.loop = loop
        self.presence = presence
        busyPollMicroseconds = configuration.busyPollMicroseconds
    }

    func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
        guard presence.allows(connection.remote) else {
            refuse(
                connection,
                because: "the application does not allow \(connection.remote.key) to connect")
            return nil
        }
        let number = count.add(1, ordering: .relaxed).newValue
        loop.post(.connected(number, connection))
        return Connection(number: number, connection, loop: loop)
    }

    var metadata: Object { presence.metadata }

    func addressesChanged() {
        loop.post(.addressesChanged)
    }

    func report(_ event: PeerTransportEvent) {
        presence.record(event)
    }

    func refuse(_ connection: any PeerConnection, because reason: String) {
        report(.refused(address: connection.remote.address, reason: reason))
        loop.post(.denied(connection.remote, reason))
        // The reason is not sent: it may name other peers.
        connection.send(CloseMessage(.refused, "refused by the application").firstFrame)
        connection.close(because: reason)
    }

    private final class Connection: PeerConnectionHandler {
        let number: UInt64
        let connection: any PeerConnection
        let loop: PeerLoop

        init(number: UInt64, _ connection: any PeerConnection, loop: PeerLoop) {
            self.number = number
            self.connection = connection
            self.loop = loop
        }

        func received(_ bytes: UnsafeRawBufferPointer) {
            loop.receive(Array(bytes), on: number, from: connection)
        }

        // The session limits its own sending by credit.
        func drained() {}

        func closed(_ reason: String) {
            loop.post(.closed(number, reason: reason))
        }
    }
}
