import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTransport

/// The system collections about the mesh and the subscriptions of a peer.
extension Presence {
    /// Registers `system:presence`.
    func registerRows(in queries: QueryEngine) {
        queries.registeredCollections.register("presence") { [weak self, weak queries] in
            guard let self, let queries else { return [] }
            return rows(of: queries)
        }
    }

    private func rows(of queries: QueryEngine) -> [Object] {
        let graph = graph
        let commit = queries.snapshot().log.commit
        let local = graph.localPeer
        var rows = [row(local, site: queries.documents.site, through: commit)]
        rows += graph.remotePeers.map { row($0, site: status(of: $0.key)?.site, through: commit) }
        for peer in graph.disconnectedPeers {
            let status = peer.key.flatMap(status)
            rows.append([
                "_id": .string("disconnected \(rows.count)"), "kind": "disconnected",
                "peer": peer.key.map { .string("\($0)") } ?? .null,
                "name": status.map { .string($0.name) } ?? .null,
                "site": Self.text(status?.site),
                "address": .string(peer.address), "reason": .string(peer.reason),
                "since": .integer(peer.sinceMilliseconds),
            ])
        }
        return rows
    }

    private func row(_ peer: PresencePeer, site: Site?, through commit: CommitID) -> Object {
        [
            "_id": .string("\(peer.key)"), "kind": peer.distance == 0 ? "local" : "remote",
            "peer": .string("\(peer.key)"), "name": .string(peer.deviceName),
            "site": Self.text(site),
            "isServer": .bool(peer.isServer), "distance": .integer(Int64(peer.distance)),
            "operatingSystem": peer.operatingSystem.map { .string($0) } ?? .null,
            "version": peer.sheafVersion.map { .string($0) } ?? .null,
            "metadata": .object(peer.metadata),
            "connections": .array(
                peer.connections.map { .object(connection($0, of: peer, through: commit)) }),
        ]
    }

    /// Returns a connection of a peer; with the numbers, if it is one of this peer.
    private func connection(
        _ connection: PresenceConnection, of peer: PresencePeer, through commit: CommitID
    ) -> Object {
        let other = connection.other(than: peer.key)
        var row: Object = [
            "peer": .string("\(other)"), "transport": .string("\(connection.kind)"),
        ]
        guard peer.distance == 0, let traffic = traffic(with: other) else { return row }
        row["bytesSent"] = .integer(Int64(clamping: traffic.bytesSent))
        row["bytesReceived"] = .integer(Int64(clamping: traffic.bytesReceived))
        let status = status(of: other)
        row["receiving"] = .progress(status?.receiving)
        row["sending"] = .progress(status?.sending)
        // Without a subscription, the peer confirms nothing.
        row["lag"] =
            status?.syncedUpTo.map {
                .integer(Int64(clamping: commit - min(commit, $0)))
            } ?? .null
        return row
    }

    private static func text(_ site: Site?) -> Value {
        site.map { .string($0.text) } ?? .null
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
