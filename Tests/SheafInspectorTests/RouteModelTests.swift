import Sheaf
import SheafInspector
import SheafReplication
import SheafSync
import SheafTestSupport
import Testing

/// Tests of routes through random meshes, against paths that are found by trying all of them.
@Suite struct RouteModelTests {
    private func key(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(number), count: 32)
    }

    private func graph(_ neighbors: [[Int]]) -> PresenceGraph {
        PresenceGraph(
            neighbors.enumerated().map { number, others in
                PeerRecord(
                    key: key(number),
                    version: PeerRecord.Version(opening: 1, salt: 1, count: 1),
                    PeerRecord.Description(),
                    neighbors: others.map { PeerRecord.Neighbor(key: key($0), kind: 0) })
            })
    }

    private func routes(_ neighbors: [[Int]], to target: Int) -> [[Int]] {
        graph(neighbors).routes(to: PeerKey(unchecked: key(target))).map { route in
            route.map { Int($0.bytes[0]) }
        }
    }

    /// Returns the length of the shortest path from a peer to another one that avoids some peers.
    private func shortest(
        _ neighbors: [[Int]], from peer: Int, to target: Int, without passed: Set<Int>
    ) -> Int? {
        if peer == target { return 0 }
        let lengths = neighbors[peer].filter { !passed.contains($0) }.compactMap {
            shortest(neighbors, from: $0, to: target, without: passed.union([$0]))
        }
        return lengths.min().map { $0 + 1 }
    }

    @Test func `a route is the shortest one through its first peer, and leads to the target`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("routes, seed \(seed)")
        var random = SeededRandom(seed: seed, "routes")
        for _ in 0..<25 {
            var neighbors = [[Int]](repeating: [], count: 6)
            for one in 0..<6 {
                for other in 0..<one where random.chance(2, in: 5) {
                    neighbors[one].append(other)
                    neighbors[other].append(one)
                }
            }
            for target in 1..<6 {
                let routes = routes(neighbors, to: target)
                guard !neighbors[0].contains(target) else {
                    #expect(routes == [[0, target]], "seed \(seed)")
                    continue
                }
                for route in routes {
                    #expect(route.first == 0 && route.last == target, "seed \(seed)")
                    let isConnected = zip(route, route.dropFirst()).allSatisfy { from, to in
                        neighbors[from].contains(to)
                    }
                    #expect(isConnected && Set(route).count == route.count, "seed \(seed)")
                }
                var expected: [Int: Int] = [:]
                for first in neighbors[0] {
                    expected[first] = shortest(
                        neighbors, from: first, to: target, without: [0, first])
                }
                let found = Dictionary(uniqueKeysWithValues: routes.map { ($0[1], $0.count - 2) })
                #expect(found == expected, "seed \(seed)")
                #expect(routes.map(\.count) == routes.map(\.count).sorted(), "seed \(seed)")
            }
        }
    }

    @Test func `an unknown peer, and one that no neighbor reaches, have no routes`() {
        #expect(routes([[1], [0], [3], [2]], to: 3) == [])
        #expect(routes([[1], [0]], to: 9) == [])
        #expect(routes([[]], to: 1) == [])
        // The only path leads through the local peer itself.
        #expect(routes([[1, 2], [0], [0, 3], [2]], to: 3) == [[0, 2, 3]])
    }
}
