import DittoNames
import Foundation
import Sheaf
import Testing

/// Databases of one process whose peers are connected, each with each.
final class DittoMesh {
    private let network = MemoryNetwork()
    private(set) var dittos: [Ditto] = []

    /// A database more, which syncs when somebody says so.
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

/// Databases of one process whose peers talk over TCP on this machine.
enum LoopbackScene {
    /// 32 bytes that both sides have, in Base64.
    static let key = Data(repeating: 7, count: 32).base64EncodedString()

    static func ditto(_ databaseID: String = "loopback", key: String? = key) async throws -> Ditto {
        try await Ditto.inMemory(
            config: DittoConfig(
                databaseID: databaseID, connect: .smallPeersOnly(privateKey: key)))
    }

    /// Begins to listen at any port, and returns the address.
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
    /// Returns when a query finds documents with these ids.
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

    /// The first graph of which `condition` holds.
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
