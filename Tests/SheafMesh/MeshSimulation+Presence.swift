import SheafDocument
import SheafReplication
import SheafTransport

/// Presence in a mesh.
extension MeshSimulation {
    /// Publishes new metadata of a peer.
    func describe(_ peer: MeshPeer) throws {
        let metadata: Value = .object(["said": .integer(Int64(now / 1_000_000))])
        peer.metadata = Array(metadata.json.utf8)
        peer.replicator.present(metadata: peer.metadata)
        try perform(peer)
    }

    /// Checks that each honest peer knows all reachable peers, and no malicious one.
    func checkPresence() throws {
        let wanted = Set(pairs.map { Set([$0, $1]) }).filter { pair in
            !pair.contains { peers[$0].isStranger }
        }
        let open = Set(wires.values.filter(\.isOpen).map { Set($0.ends) })
        guard open == wanted else {
            throw Violation(description: "\(open.count) of \(wanted.count) connections are open")
        }
        for peer in honest {
            let reached = reached(from: peer.number, over: open)
            let graph = PresenceGraph(peer.replicator.reachablePeers)
            let known = [graph.localPeer] + graph.remotePeers
            guard graph.localPeer.key.bytes == peer.key, known.count == reached.count else {
                throw Violation(
                    description: "peer \(peer.number) knows \(known.count) peers of "
                        + "\(reached.count)")
            }
            for other in reached.map({ peers[$0] }) {
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
            guard connections == open.filter({ $0.isSubset(of: reached) }) else {
                throw Violation(
                    description: "peer \(peer.number) knows the connections \(connections)")
            }
        }
    }

    private func reached(from peer: Int, over connections: Set<Set<Int>>) -> Set<Int> {
        var reached: Set = [peer]
        while true {
            let more = connections.filter { !$0.isDisjoint(with: reached) }
                .reduce(reached) { $0.union($1) }
            guard more.count > reached.count else { return reached }
            reached = more
        }
    }

    private func number(of key: PeerKey) -> Int {
        peers.first { $0.key == key.bytes }?.number ?? -1
    }
}
