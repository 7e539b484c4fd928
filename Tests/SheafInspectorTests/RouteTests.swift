import Sheaf
import SheafInspector
import SheafReplication
import SheafSync
import Testing

extension InspectorTests {
    /// The routes of an explanation.
    @Suite(.serialized) struct RouteTests {
        private static func key(_ number: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(number), count: 32)
        }

        private func record(_ number: Int, neighbors: [Int]) -> PeerRecord {
            PeerRecord(
                key: Self.key(number),
                version: PeerRecord.Version(opening: 1, salt: 1, count: 1),
                PeerRecord.Description(),
                neighbors: neighbors.map { PeerRecord.Neighbor(key: Self.key($0), kind: 0) })
        }

        @Test(arguments: [15, 16, 17])
        func `at most sixteen routes lead to a peer, each through another neighbor`(
            neighbors: Int
        ) {
            let relays = Array(1...neighbors)
            let target = 100
            var records = [record(0, neighbors: relays)]
            records += relays.map { record($0, neighbors: [0, target]) }
            records.append(record(target, neighbors: relays))
            let routes = PresenceGraph(records).routes(to: PeerKey(unchecked: Self.key(target)))
            #expect(routes.count == min(neighbors, 16))
            #expect(routes.allSatisfy { $0.count == 3 })
            #expect(Set(routes.map { $0[1] }).count == routes.count)
        }
    }
}
