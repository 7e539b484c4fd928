import SheafDocument
import SheafReplication
import SheafStatements

/// The system collections about the mesh and the subscriptions of a peer.
extension Presence {
    /// Registers `system:presence`.
    func registerRows(in queries: QueryEngine) {
        queries.registeredCollections.register("presence") { [weak self] in self?.rows ?? [] }
    }

    private var rows: [Object] {
        let graph = graph
        var rows = ([graph.localPeer] + graph.remotePeers).map(Self.row)
        for peer in graph.disconnectedPeers {
            rows.append([
                "_id": .string("disconnected \(rows.count)"), "kind": "disconnected",
                "peer": peer.key.map { .string("\($0)") } ?? .null,
                "address": .string(peer.address), "reason": .string(peer.reason),
                "since": .integer(peer.sinceMilliseconds),
            ])
        }
        return rows
    }

    private static func row(_ peer: PresencePeer) -> Object {
        let connections = peer.connections.map { connection in
            Value.object([
                "peer": .string("\(connection.other(than: peer.key))"),
                "transport": .string("\(connection.kind)"),
            ])
        }
        return [
            "_id": .string("\(peer.key)"), "kind": peer.distance == 0 ? "local" : "remote",
            "peer": .string("\(peer.key)"), "name": .string(peer.deviceName),
            "isServer": .bool(peer.isServer), "distance": .integer(Int64(peer.distance)),
            "operatingSystem": peer.operatingSystem.map { .string($0) } ?? .null,
            "version": peer.sheafVersion.map { .string($0) } ?? .null,
            "metadata": .object(peer.metadata), "connections": .array(connections),
        ]
    }
}

extension PeerSync {
    /// Registers `system:subscriptions`.
    func registerRows(in queries: QueryEngine) {
        queries.registeredCollections.register("subscriptions") { [weak self] in
            self?.subscriptions.enumerated().map { number, subscription in
                ["_id": .integer(Int64(number)), "statement": .string(subscription.query)]
            } ?? []
        }
    }
}
