package import Sheaf
import SheafReplication

extension PresenceGraph {
    /// Maximum number of routes, one for each neighbor.
    private static let maximumRoutes = 16

    /// Returns routes from the local peer to another one, the shortest first.
    ///
    /// A connection to the peer is the only route. Otherwise, there is one through each neighbor.
    package func routes(to target: PeerKey) -> [[PeerKey]] {
        let local = localPeer.key
        let neighbors = Dictionary(
            ([localPeer] + remotePeers).map { peer in
                (peer.key, peer.connections.map { $0.other(than: peer.key) })
            }, uniquingKeysWith: { first, _ in first })
        let own = neighbors[local] ?? []
        guard !own.contains(target) else { return [[local, target]] }
        let distances = Self.distances(from: target, neighbors, without: local)
        let nearest = own.compactMap { key in distances[key].map { (distance: $0, key) } }
            .sorted { $0.distance < $1.distance }
        return nearest.prefix(Self.maximumRoutes).map { distance, neighbor in
            var (route, last) = ([local, neighbor], neighbor)
            for remaining in stride(from: distance - 1, through: 0, by: -1) {
                guard let next = neighbors[last]?.first(where: { distances[$0] == remaining })
                else { break }
                route.append(next)
                last = next
            }
            return route
        }
    }

    /// Returns the number of connections from each peer to a target, on routes without `local`.
    private static func distances(
        from target: PeerKey, _ neighbors: [PeerKey: [PeerKey]], without local: PeerKey
    ) -> [PeerKey: Int] {
        guard neighbors[target] != nil else { return [:] }
        var distances = [target: 0]
        var (reached, distance) = ([target], 0)
        while !reached.isEmpty {
            distance += 1
            var next: [PeerKey] = []
            for key in reached.flatMap({ neighbors[$0] ?? [] })
            where key != local && distances[key] == nil {
                distances[key] = distance
                next.append(key)
            }
            reached = next
        }
        return distances
    }
}
