import Sheaf
import SheafStatements
import Testing

/// Peers of one process, each with a store in memory.
final class PeerScene {
    let network = MemoryNetwork(connectsAll: false)
    private(set) var peers: [Peer] = []

    init(_ count: Int) async throws {
        for number in 0..<count {
            let key = PeerKey.random()
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "scene", key: key, deviceName: "peer \(number)",
                    transports: [network.transport(for: key)]))
            try peer.sync.start()
            peers.append(peer)
        }
    }

    func connect(_ one: Int, _ other: Int) {
        network.connect(peers[one].key, peers[other].key)
    }

    func disconnect(_ one: Int, _ other: Int) {
        network.disconnect(peers[one].key, peers[other].key)
    }

    func close() async throws {
        for peer in peers { try await peer.close() }
    }
}

extension Peer {
    /// Waits until a query has a result for which `condition` holds, and returns its items as JSON.
    @discardableResult
    func items(
        of query: DQL, until condition: ([String]) -> Bool
    ) async throws -> [String] {
        for try await result in try store.observe(query) {
            let items = try result.items.map { try $0.jsonString }
            if condition(items) { return items }
        }
        throw CancellationError()
    }
}
