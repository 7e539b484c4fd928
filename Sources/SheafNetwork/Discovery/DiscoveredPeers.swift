/// The peers found on the local network, in a random order.
///
/// Each peer dials a random selection of them, so the mesh is connected with high probability.
package struct DiscoveredPeers {
    private var peers: [DiscoveredPeer] = []
    /// The times until which failed peers wait.
    private var waiting: [AnnouncedName: UInt64] = [:]

    package init() {}

    /// Returns the peers that may be tried, in their order, except those in `tried`.
    package func ready(
        at now: UInt64, besides tried: Set<AnnouncedName> = []
    ) -> [DiscoveredPeer] {
        peers.filter { !tried.contains($0.name) && waiting[$0.name] ?? 0 <= now }
    }

    /// Lets a peer wait after a failed attempt.
    package mutating func failed(_ name: AnnouncedName, until time: UInt64) {
        guard peers.contains(where: { $0.name == name }) else { return }
        waiting[name] = time
    }

    /// Adds a peer at a random index, or replaces its addresses.
    package mutating func insert(_ peer: DiscoveredPeer, at random: UInt64) {
        if let index = peers.firstIndex(where: { $0.name == peer.name }) {
            peers[index] = peer
        } else {
            peers.insert(peer, at: Int(random % UInt64(peers.count + 1)))
        }
    }

    package mutating func remove(_ name: AnnouncedName) {
        peers.removeAll { $0.name == name }
        waiting[name] = nil
    }

    package mutating func moveToEnd(_ name: AnnouncedName) {
        guard let index = peers.firstIndex(where: { $0.name == name }) else { return }
        peers.append(peers.remove(at: index))
    }
}
