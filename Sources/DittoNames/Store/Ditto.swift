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
/// Code that was written for that system runs with it; new code is better off with `Store` and `Peer`, whose
/// values have types, and whose errors nobody can overlook.
public final class Ditto: Sendable {
    /// What is stored here.
    public let store: DittoStore
    /// What is wanted of others.
    public let sync: DittoSync
    /// Who is there.
    public let presence: DittoPresence
    /// What shares the documents; none where the database was opened without peers.
    public let peer: Peer?
    /// How the database was opened; none where its store or peer was made elsewhere.
    public let config: DittoConfig?
    /// None where the transports are somebody else's.
    let network: DittoNetwork?
    /// The directory of the database; nil where it is in memory, or was opened elsewhere.
    public let persistenceDirectory: URL?

    /// Gives an open store the names of the reference system; both can be used side by side.
    ///
    /// It has no peers: what would need some is an error.
    public convenience init(over store: Store) {
        self.init(store, nil, nil, nil)
    }

    /// Gives an open peer the names of the reference system; both can be used side by side.
    ///
    /// Its transports stay as they are, whatever they are: there is no transport config.
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
        presence = DittoPresence(peer, network, self.store.complaints)
    }

    /// Opens the database in the directory at `path`, or makes one where there is none; without peers.
    public static func open(at path: String) async throws -> Ditto {
        let store = try await inDittoWords {
            try await Store.open(at: path, options: storeOptions)
        }
        return Ditto(store, nil, nil, nil, in: URL(fileURLWithPath: path))
    }

    /// Opens the database in a directory, or makes one where there is none; without peers.
    public static func open(at persistenceDirectory: URL) async throws -> Ditto {
        try await open(at: persistenceDirectory.path)
    }

    /// Makes an empty database in memory, which is gone when it is closed; without peers.
    public static func inMemory() async throws -> Ditto {
        Ditto(over: try await inDittoWords { try await Store.inMemory(options: storeOptions) })
    }

    /// Waits for all transactions, makes everything durable, and lets go of the database.
    ///
    /// Observers, subscriptions and fetches are cancelled then.
    public func close() async throws {
        sync.close()
        try await inDittoWords {
            if let peer { try await peer.close() } else { try await store.sheaf.close() }
        }
        for observer in store.observers { observer.cancel() }
        for fetcher in store.attachmentFetchers { fetcher.stop() }
    }
}
