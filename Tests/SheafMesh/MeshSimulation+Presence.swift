import Sheaf
import SheafDocument

/// What peers of a mesh know of each other.
extension MeshSimulation {
    /// A peer says something else of itself.
    func describe(_ peer: MeshPeer) throws {
        let metadata: Value = .object(["said": .integer(Int64(now / 1_000_000))])
        peer.metadata = Array(metadata.json.utf8)
        peer.host.present(metadata: peer.metadata)
        try perform(peer)
    }

    /// Everybody knows the whole mesh, as it is.
    func checkPresence() throws {
        let open = Set(wires.values.filter(\.isOpen).map { Set($0.ends) })
        guard open.count == pairs.count else {
            throw Violation(description: "\(open.count) of \(pairs.count) connections are open")
        }
        for peer in peers {
            let graph = PresenceGraph(peer.host.reachablePeers)
            let known = [graph.localPeer] + graph.remotePeers
            guard graph.localPeer.key.bytes == peer.key, known.count == peers.count else {
                throw Violation(description: "peer \(peer.number) knows \(known.count) peers")
            }
            for other in peers {
                guard let found = known.first(where: { $0.key.bytes == other.key }) else {
                    throw Violation(
                        description: "peer \(peer.number) does not know peer \(other.number)")
                }
                guard Array(Value.object(found.metadata).json.utf8) == other.metadata else {
                    throw Violation(
                        description: "peer \(peer.number) knows \(found.metadata) of peer "
                            + "\(other.number)")
                }
            }
            let connections = Set(
                graph.connections.map { connection in
                    Set([number(of: connection.peer1), number(of: connection.peer2)])
                })
            guard connections == open else {
                throw Violation(
                    description: "peer \(peer.number) knows the connections \(connections)")
            }
        }
    }

    private func number(of key: PeerKey) -> Int {
        peers.first { $0.key == key.bytes }?.number ?? -1
    }
}
