import DittoNames
import Foundation
import Sheaf
import Testing

/// Databases in one process, connected in a full mesh.
final class DittoMesh {
    private let network = MemoryNetwork()
    private(set) var dittos: [Ditto] = []

    /// Adds a database; the caller starts its sync.
    func ditto(_ name: String = "", isServer: Bool = false) async throws -> Ditto {
        let key = PeerKey.random()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "mesh", key: key, deviceName: name, isServer: isServer,
                transports: [network.transport(for: key)]))
        let ditto = Ditto(over: peer)
        ditto.store.onUnthrownError = { Issue.record("\($0)") }
        dittos.append(ditto)
        return ditto
    }

    func close() async throws {
        for ditto in dittos { try await ditto.close() }
    }
}

/// Databases in one process that connect over TCP.
enum LoopbackScene {
    /// A 32-byte shared key in Base64.
    static let key = Data(repeating: 7, count: 32).base64EncodedString()

    static func ditto(_ databaseID: String = "loopback", key: String? = key) async throws -> Ditto {
        try await Ditto.inMemory(
            config: DittoConfig(
                databaseID: databaseID, connect: .smallPeersOnly(privateKey: key)))
    }

    /// Starts listening on a free port and returns the address.
    static func listen(_ ditto: Ditto) async throws -> String {
        let (addresses, found) = AsyncStream.makeStream(of: String.self)
        let peer = try #require(ditto.peer)
        peer.presence.onTransportEvent { event in
            if case .listening(let address) = event { found.yield(address) }
        }
        ditto.updateTransportConfig { config in
            config.listen.tcp.isEnabled = true
            config.listen.tcp.interfaceIP = "127.0.0.1"
            config.listen.tcp.port = 0
        }
        if !ditto.isSyncActive { try ditto.startSync() }
        for await address in addresses { return address }
        throw CancellationError()
    }
}

extension Ditto {
    /// Waits until a query returns documents with exactly these IDs.
    func documents(of query: String, are ids: Set<String>) async {
        let (results, found) = AsyncStream.makeStream(of: Set<String>.self)
        let observer = store.registerObserver(
            query: query, deliverOn: DispatchQueue(label: "documents")
        ) { result in
            found.yield(Set(result.items.map { $0.value["_id"] as? String ?? "" }))
        }
        defer { observer.cancel() }
        for await known in results where known == ids { return }
    }

    /// Returns the first presence graph that satisfies `condition`.
    func graph(where condition: (DittoPresenceGraph) -> Bool) async -> DittoPresenceGraph {
        let (graphs, found) = AsyncStream.makeStream(of: DittoPresenceGraph.self)
        let observer = presence.observe(deliverOn: DispatchQueue(label: "graphs")) {
            found.yield($0)
        }
        defer { observer.stop() }
        for await graph in graphs where condition(graph) { return graph }
        return presence.graph
    }
}
