public import Foundation
public import Sheaf

/// A database under the names of the reference system.
///
///     let ditto = try await Ditto.open(
///         config: DittoConfig(databaseID: "cars", connect: .smallPeersOnly(privateKey: key)))
///     ditto.updateTransportConfig { $0.connect.tcpServers.insert("192.168.1.20:4040") }
///     try ditto.sync.registerSubscription(query: "SELECT * FROM cars")
///     try ditto.sync.start()
///     let result = try await ditto.store.execute(
///         query: "SELECT * FROM cars WHERE color = :color", arguments: ["color": "blue"])
///     try await ditto.close()
///
/// It runs code written for that system. New code should use `Store` and `Peer`, which have typed
/// values and report all errors by throwing.
public final class Ditto: Sendable {
    /// The documents of the database.
    public let store: DittoStore
    /// Subscriptions, and starting and stopping sync.
    public let sync: DittoSync
    /// The peers that can be reached.
    public let presence: DittoPresence
    /// The replicating peer; nil if the database was opened without peers.
    public let peer: Peer?
    /// The configuration; nil if the store or peer was created elsewhere.
    public let config: DittoConfig?
    /// The transport; nil if the peer was created elsewhere.
    let network: DittoNetwork?
    /// The directory of the database; nil if it is in memory or was opened elsewhere.
    public let persistenceDirectory: URL?

    /// Wraps an open store in the names of the reference system; both can be used together.
    ///
    /// The database has no peers, and calls that need them fail.
    public convenience init(over store: Store) {
        self.init(store, nil, nil, nil)
    }

    /// Wraps an open peer in the names of the reference system; both can be used together.
    ///
    /// Its transports are not changed, and there is no transport configuration.
    public convenience init(over peer: Peer) {
        self.init(peer.store, peer, nil, nil)
    }

    init(
        _ store: Store, _ peer: Peer?, _ network: DittoNetwork?, _ config: DittoConfig?,
        in directory: URL? = nil
    ) {
        persistenceDirectory = directory
        self.store = DittoStore(store, peer)
        self.peer = peer
        self.network = network
        self.config = config
        sync = DittoSync(peer)
        presence = DittoPresence(peer, network, self.store.errorHandler)
    }

    /// Opens or creates the database in the directory at `path`, without peers.
    public static func open(at path: String) async throws -> Ditto {
        let store = try await inDittoWords {
            try await Store.open(at: path, options: storeOptions)
        }
        return Ditto(store, nil, nil, nil, in: URL(fileURLWithPath: path))
    }

    /// Opens or creates the database in a directory, without peers.
    public static func open(at persistenceDirectory: URL) async throws -> Ditto {
        try await open(at: persistenceDirectory.path)
    }

    /// Creates an empty database in memory without peers, discarded on close.
    public static func inMemory() async throws -> Ditto {
        Ditto(over: try await inDittoWords { try await Store.inMemory(options: storeOptions) })
    }

    /// Waits for all transactions, makes all commits durable, and closes the database.
    ///
    /// Also cancels all observers, subscriptions and fetches.
    public func close() async throws {
        sync.close()
        try await inDittoWords {
            if let peer { try await peer.close() } else { try await store.sheaf.close() }
        }
        for observer in store.observers { observer.cancel() }
        for fetcher in store.attachmentFetchers { fetcher.stop() }
    }
}
