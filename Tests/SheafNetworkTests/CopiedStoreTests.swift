import Foundation
import Sheaf
import SheafEngine
import SheafNetwork
import SheafStatements
import SheafTestSupport
import Synchronization
import Testing

/// Two running copies of one store, with one key.
struct CopiedStoreTests {
    private let directory = TemporaryDirectory()
    private let cars: DQL = "SELECT * FROM cars ORDER BY _id"

    /// A peer that captures its log from level warning on.
    private final class Copy: Sendable {
        let peer: Peer
        let transport: TCPTransport
        private let log: AsyncStream<String>

        init(_ path: String, _ keyPair: PeerKeyPair, name: String) async throws {
            let lines = AsyncStream<String>.makeStream()
            log = lines.stream
            var configuration = try Peers.configuration(keyPair: keyPair)
            configuration.listening = ["127.0.0.1:0"]
            transport = try TCPTransport(configuration)
            peer = try await Peer.open(
                at: path,
                configuration: PeerConfiguration(
                    databaseID: "cars", key: keyPair.publicKey,
                    deviceName: name, transports: [transport],
                    store: StoreOptions(
                        log: StoreLog(from: .warning) { _, message, metadata in
                            lines.continuation.yield(
                                "\(message) \(metadata["reason", default: ""])")
                        })))
            try peer.sync.registerSubscription("SELECT * FROM cars")
        }

        /// Starts the peer; returns the address it listens on.
        func start() async throws -> String {
            let addresses = AsyncStream<String>.makeStream()
            peer.presence.onTransportEvent { event in
                if case .listening(let address) = event { addresses.continuation.yield(address) }
            }
            try peer.sync.start()
            var iterator = addresses.stream.makeAsyncIterator()
            return try #require(await iterator.next())
        }

        /// Waits for a log line that contains `words`.
        func warning(with words: String) async -> String? {
            for await line in log where line.contains(words) { return line }
            return nil
        }

        func write(_ id: String, _ field: String) async throws {
            let car: Value = ["_id": .string(id), field: 1]
            try await peer.store.execute(
                "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE", ["car": car])
        }

        /// Waits until the store has exactly these documents, ordered by ID.
        func wait(for rows: [String]) async throws {
            for try await result in try peer.store.observe("SELECT * FROM cars ORDER BY _id")
            where try result.items.map({ try $0.jsonString }) == rows { return }
        }

        var site: Site { peer.store.queries.documents.site }
    }

    /// Opens a store with one document, and a copy of its directory.
    private func copies() async throws -> [Copy] {
        let keyPair = try PeerKeyPair.generate()
        let paths = [directory.path("original"), directory.path("copy")]
        let original = try await Copy(paths[0], keyPair, name: "original")
        try await original.write("both", "before")
        try await original.peer.close()
        try FileManager.default.copyItem(atPath: paths[0], toPath: paths[1])
        return [
            try await Copy(paths[0], keyPair, name: "original"),
            try await Copy(paths[1], keyPair, name: "copy"),
        ]
    }

    @Test(.timeLimit(.minutes(40)))
    func `two running copies with one key converge through a third peer`() async throws {
        let server = try await Copy(
            directory.path("server"), try PeerKeyPair.generate(), name: "server")
        let address = try await server.start()
        let copies = try await copies()
        for (copy, name) in zip(copies, ["original", "copy"]) {
            try await copy.write("both", name)
            try await copy.write(name, "own")
        }
        // The copies write with distinct sites.
        #expect(copies[0].site != copies[1].site)
        for copy in copies {
            _ = try await copy.start()
            try copy.transport.add(address)
        }
        let rows = [
            #"{"_id":"both","before":1,"copy":1,"original":1}"#, #"{"_id":"copy","own":1}"#,
            #"{"_id":"original","own":1}"#,
        ]
        for copy in [server] + copies { try await copy.wait(for: rows) }
        for copy in [server] + copies { try await copy.peer.close() }
    }

    @Test(.timeLimit(.minutes(40)))
    func `two running copies with one key refuse to connect, and the log gives the reason`()
        async throws
    {
        let copies = try await copies()
        for copy in copies { try await copy.write("both", "after") }
        let address = try await copies[0].start()
        _ = try await copies[1].start()
        try copies[1].transport.add(address)
        let warning = await copies[1].warning(with: "a peer cannot be reached")
        #expect(warning?.contains("key") == true, "\(warning ?? "none")")
        for copy in copies { try await copy.peer.close() }
    }

    @Test(.timeLimit(.minutes(40)))
    func `two copies with one key at two ends of a mesh are reported in both logs`() async throws {
        let servers = [
            try await Copy(directory.path("left"), try PeerKeyPair.generate(), name: "left"),
            try await Copy(directory.path("right"), try PeerKeyPair.generate(), name: "right"),
        ]
        let addresses = [try await servers[0].start(), try await servers[1].start()]
        try servers[0].transport.add(addresses[1])
        let copies = try await copies()
        for (copy, name) in zip(copies, ["original", "copy"]) { try await copy.write(name, "own") }
        for (copy, address) in zip(copies, addresses) {
            _ = try await copy.start()
            try copy.transport.add(address)
        }
        for (copy, other) in zip(copies, ["copy", "original"]) {
            let warning = await copy.warning(with: "another peer with this key")
            #expect(warning?.contains("\"\(other)\"") == true, "\(warning ?? "none")")
        }
        let rows = [
            #"{"_id":"both","before":1}"#, #"{"_id":"copy","own":1}"#,
            #"{"_id":"original","own":1}"#,
        ]
        for peer in servers + copies { try await peer.wait(for: rows) }
        for peer in servers + copies { try await peer.peer.close() }
    }
}
