public import Foundation
import Sheaf
import SheafNetwork

extension Ditto {
    /// Opens or creates a database that can sync with other peers.
    ///
    /// No connections are opened before `sync.start()`.
    public static func open(config: DittoConfig = DittoConfig()) async throws -> Ditto {
        let (peer, network) = try await inDittoWords { try await parts(config) }
        return Ditto(peer.store, peer, network, config, in: try directory(of: config))
    }

    /// Creates an empty database in memory that can sync with other peers.
    public static func inMemory(config: DittoConfig) async throws -> Ditto {
        try await inDittoWords {
            let keyPair = try PeerKeyPair.generate()
            let network = try DittoNetwork(config, keyPair)
            let peer = try await Peer.inMemory(
                configuration: configuration(config, keyPair, network))
            return Ditto(peer.store, peer, network, config)
        }
    }

    /// Opens a database and blocks the thread; in a task, use `open(config:)` instead.
    public static func openSync(config: DittoConfig = DittoConfig()) throws -> Ditto {
        try waiting { try await open(config: config) }
    }

    /// Opens the database of an identity, as older versions do; blocks the thread.
    public convenience init(
        identity: DittoIdentity = .offlinePlayground(), persistenceDirectory: URL? = nil
    ) throws {
        let config = identity.config(persistenceDirectory)
        let (peer, network) = try waiting { try await Ditto.parts(config) }
        self.init(
            peer.store, peer, network, config, in: try Ditto.directory(of: config))
    }

    private static func parts(_ config: DittoConfig) async throws -> (Peer, DittoNetwork) {
        let directory = try directory(of: config)
        let keyPair = try keyPair(beside: directory)
        let network = try DittoNetwork(config, keyPair)
        let peer = try await Peer.open(
            at: directory.path, configuration: configuration(config, keyPair, network))
        return (peer, network)
    }

    private static func configuration(
        _ config: DittoConfig, _ keyPair: PeerKeyPair, _ network: DittoNetwork
    ) -> PeerConfiguration {
        PeerConfiguration(
            databaseID: DatabaseID(config.databaseID), key: keyPair.publicKey,
            deviceName: ProcessInfo.processInfo.hostName, isServer: config.isServer,
            transports: [network],
            store: storeOptions)
    }

    /// The options of stores; strict, as REGISTER is the default type of the reference system.
    static var storeOptions: StoreOptions {
        var options = StoreOptions(log: DittoLogger.storeLog)
        options.isStrict = true
        return options
    }

    private static func directory(of config: DittoConfig) throws -> URL {
        if let directory = config.persistenceDirectory { return directory }
        let base = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil,
            create: true)
        // Characters other than letters and digits may have a meaning in the file system.
        let name = config.databaseID.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        return base.appendingPathComponent("ditto-\(name ?? "")")
    }

    /// Loads or creates the key of the peer, in a file next to the database.
    private static func keyPair(beside directory: URL) throws -> PeerKeyPair {
        let parent = directory.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        let path = parent.appendingPathComponent("\(directory.lastPathComponent).key").path
        return try PeerKeyPair.loadOrGenerate(at: path)
    }
}
