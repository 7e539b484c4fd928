import Sheaf
import SheafStatements
import SheafStorage
import SheafSystem

/// The demonstration: one store that is written, queried and observed, then three peers that sync.
struct Demo {
    static let names = ["ann", "ben", "cleo"]

    let network = MemoryNetwork(connectsAll: false)
    var peers: [Peer] = []
    private(set) var steps: [DemoStep] = []

    /// The store of the first peer, which the demonstration keeps.
    var store: Store { peers[0].store }

    /// Runs the demonstration with a new store at `path`, and returns its output.
    static func play(at path: String) async throws -> [DemoStep] {
        var demo = Demo()
        do {
            try await demo.run(at: path)
        } catch {
            for peer in demo.peers { try? await peer.close() }
            throw error
        }
        for peer in demo.peers { try await peer.close() }
        return demo.steps
    }

    private mutating func run(at path: String) async throws {
        try await openPeers(at: path)
        add(.sentence("Sheaf \(SheafVersion.current), \(Self.build)"))
        try await write()
        try await query()
        try await observe()
        try await sync()
    }

    private static var build: String {
        #if DEBUG
            "debug build: times are several times those of a release build"
        #else
            "release build"
        #endif
    }

    /// Opens the store of the first peer on disk, those of the others in memory.
    private mutating func openPeers(at path: String) async throws {
        for name in Self.names {
            let key = PeerKey.random()
            let configuration = PeerConfiguration(
                databaseID: "demo", key: key, deviceName: name,
                transports: [network.transport(for: key)])
            peers.append(
                peers.isEmpty
                    ? try await Peer.open(at: path, configuration: configuration)
                    : try await Peer.inMemory(configuration: configuration))
        }
    }

    mutating func add(_ content: DemoStep.Content, nanoseconds: UInt64? = nil) {
        steps.append(DemoStep(content: content, nanoseconds: nanoseconds))
    }

    /// Executes a statement of the first peer and shows it with its time and rows.
    mutating func execute(_ statement: String) async throws {
        let start = Clock.system.monotonicNanoseconds()
        let result = try await store.execute(DQL(verbatim: statement))
        let documents = try result.items.map { try $0.jsonString }
        let end = Clock.system.monotonicNanoseconds()
        add(.statement(statement), nanoseconds: end - start)
        for document in documents { add(.document(document, peer: nil)) }
    }
}
