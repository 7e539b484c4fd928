import Sheaf
import SheafDocument
import SheafNetwork
import SheafReplication

/// The list of peers, connected or reachable through other peers.
extension PeerAnswers {
    /// Returns a line per connected, former or reachable peer, and per address being dialed.
    func rows() throws(ToolError) -> [String] {
        let surveys = try asTool { try peer.sync.surveys() }
        let graph = peer.presence.graph
        let connections = transport.connections
        var rows: [String] = []
        for survey in surveys {
            let connection = connections.first { connection in
                if case .connected(let key, _) = connection.state { return key == survey.key }
                return false
            }
            let reached = graph[survey.key]
            var row = JSONLine()
            row.add("peer", survey.key.description)
            row.add("name", survey.name)
            row.add("isServer", survey.isServer)
            row.add(
                "state",
                survey.isConnected ? "connected" : reached == nil ? "unreachable" : "reached")
            row.add("address", connection?.address)
            row.add("isOutgoing", raw: connection.map { "\($0.isOutgoing)" } ?? "null")
            row.add("reason", survey.isConnected ? nil : survey.lastCloseReason)
            add(reached, to: &row)
            rows.append(row.closed)
        }
        let met = Set(surveys.map(\.key))
        for reached in graph.remotePeers where !met.contains(reached.key) {
            var row = JSONLine()
            row.add("peer", reached.key.description)
            row.add("name", reached.deviceName)
            row.add("isServer", reached.isServer)
            row.add("state", "reached")
            row.add("address", nil as String?)
            row.add("isOutgoing", raw: "null")
            row.add("reason", nil as String?)
            add(reached, to: &row)
            rows.append(row.closed)
        }
        return rows + connections.compactMap(row(of:))
    }

    /// Adds the peer's entry in the presence graph.
    private func add(_ peer: PresencePeer?, to row: inout JSONLine) {
        row.add("distance", raw: peer.map { "\($0.distance)" } ?? "null")
        row.add(
            "connections",
            peer?.connections.map { $0.other(than: peer?.key ?? $0.peer1).description } ?? [])
        row.add("metadata", raw: peer.map { Value.object($0.metadata).json } ?? "null")
    }

    /// Returns the line of an address being dialed, nil for an established connection.
    private func row(of connection: NetworkConnectionStatus) -> String? {
        let (state, reason): (String, String?)
        switch connection.state {
        case .waiting(_, let why): (state, reason) = ("waiting", why)
        case .connecting: (state, reason) = ("connecting", nil)
        case .connected, .elsewhere: return nil
        }
        var row = JSONLine()
        for name in ["peer", "name"] { row.add(name, nil as String?) }
        row.add("isServer", raw: "null")
        row.add("state", state)
        row.add("address", connection.address)
        row.add("isOutgoing", connection.isOutgoing)
        row.add("reason", reason)
        add(nil, to: &row)
        return row.closed
    }
}
