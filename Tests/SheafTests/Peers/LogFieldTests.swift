import Sheaf
import SheafDocument
import SheafEngine
import SheafMesh
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The fields of log messages that name a document.
struct LogFieldTests {
    /// An id that is truncated in the log.
    private let id = LongInput.text(scalars: 300)

    /// Returns a log that appends the fields to each message, and its messages.
    private func log() -> (StoreLog, AsyncStream<String>) {
        let (lines, writer) = AsyncStream.makeStream(of: String.self)
        let log = StoreLog(from: .warning) { _, message, metadata in
            let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            writer.yield(message + fields.joined())
        }
        return (log, lines)
    }

    private func first(of lines: AsyncStream<String>, with text: String) async -> String {
        for await line in lines where line.contains(text) { return line }
        return ""
    }

    @Test func `the warning about a large document has the start of its collection and id`()
        async throws
    {
        let (log, lines) = log()
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        let name = String(repeating: "n", count: 300)
        try await store.execute("ALTER SYSTEM SET document_size_soft_limit_bytes = 100")
        let document: Value = [
            "_id": .string(id), "text": .string(String(repeating: "t", count: 200)),
        ]
        try await store.execute(
            "INSERT INTO \(identifier: name) DOCUMENTS (:document)", ["document": document])
        let line = await first(of: lines, with: "a document has ")
        #expect(LongInput.problem(in: line, atMost: 100) == nil)
        #expect(line.count { $0 == "n" } < 130 && line.contains(" collection=nnnnnnnn"))
        #expect(line.contains(" id=\"\(LongInput.character)"))
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `both sides log a refused write with the start of its id`() async throws {
        let network = MemoryNetwork()
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])
        let (remote, remoteLines) = log()
        let (local, localLines) = log()
        func open(
            _ log: StoreLog, _ make: (any PeerTransport) -> RightsTransport
        ) async throws -> Peer {
            let key = PeerKey.random()
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "cars", key: key, transports: [make(network.transport(for: key))],
                    store: StoreOptions(log: log)))
            try peer.sync.registerSubscription("SELECT * FROM cars")
            return peer
        }
        let server = try await open(remote) { RightsTransport($0, ofOthers: rights) }
        let device = try await open(local) { RightsTransport($0, own: nil) }
        let car: Value = ["_id": .string(id), "owner": "bob"]
        try await device.store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
        try server.sync.start()
        try device.sync.start()
        let received = await first(of: remoteLines, with: "a peer has sent documents that it may")
        let written = await first(of: localLines, with: "a peer refuses local writes")
        for (line, peer) in [(received, device.key), (written, server.key)] {
            #expect(LongInput.problem(in: line, atMost: 100) == nil)
            #expect(line.contains(" collection=cars documents=1 id=\"\(LongInput.character)"))
            #expect(line.contains(" peer=\(peer)"))
        }
        #expect(received.hasSuffix(" reported=1"))
        #expect(written.contains(" reason=the rules of the peer do not allow the local"))
        try await server.close()
        try await device.close()
    }
}
