import Sheaf
import SheafReplication
import SheafSync
import Testing

/// Tests of the graph that is made of the records of peers.
struct PresenceGraphTests {
    private static func key(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private func peerKey(_ number: UInt8) -> PeerKey { PeerKey(unchecked: Self.key(number)) }

    /// Returns the record of a peer with its neighbors, and the transport number of each.
    private func record(
        _ number: UInt8, _ neighbors: [UInt8: UInt8],
        _ description: PeerRecord.Description = PeerRecord.Description()
    ) -> PeerRecord {
        PeerRecord(
            key: Self.key(number),
            version: PeerRecord.Version(opening: 1, salt: 1, count: 1), description,
            neighbors: neighbors.map { PeerRecord.Neighbor(key: Self.key($0.key), kind: $0.value) })
    }

    @Test func `the distance of a peer is the length of the shortest path`() {
        // A chain 5 - 1 - 9 - 2, and peer 7 beside both 5 and 9.
        let graph = PresenceGraph([
            record(5, [1: 2, 7: 2]), record(1, [5: 2, 9: 2]), record(7, [5: 2, 9: 2]),
            record(9, [1: 2, 7: 2, 2: 2]), record(2, [9: 2]),
        ])
        #expect(graph.localPeer.key == peerKey(5) && graph.localPeer.distance == 0)
        let order: [UInt8] = [1, 7, 9, 2]
        #expect(graph.remotePeers.map(\.key) == order.map { peerKey($0) })
        #expect(graph.remotePeers.map(\.distance) == [1, 1, 2, 3])
        #expect(graph.connections.count == 5)
        #expect(graph[peerKey(5)] == graph.localPeer)
        #expect(graph[peerKey(9)]?.connections.count == 3)
        #expect(graph[peerKey(3)] == nil)
    }

    @Test func `a connection that one end does not report is in no graph`() {
        let graph = PresenceGraph([
            record(1, [2: 2, 3: 2, 8: 2]), record(2, [1: 2, 3: 2]), record(3, [2: 2]),
        ])
        #expect(graph.localPeer.connections.map(\.peer2) == [peerKey(2)])
        #expect(graph.connections.count == 2)
        #expect(graph.remotePeers.map(\.distance) == [1, 2])
        #expect(graph[peerKey(3)]?.connections.count == 1)
    }

    @Test func `the kind of a connection is the one that the lesser key reports`() {
        // The local peer has the greater key of one connection and the lesser one of the other.
        let graph = PresenceGraph([
            record(5, [1: 1, 9: 2]), record(1, [5: 2]), record(9, [5: 1]),
        ])
        #expect(graph.localPeer.connections.map(\.kind) == [.tcp, .tcp])
        #expect(graph[peerKey(1)]?.connections.map(\.kind) == [.tcp])
        #expect(graph[peerKey(9)]?.connections.map(\.kind) == [.tcp])
        #expect(graph.connections.count == 2)
        // A number of a later version is any other transport.
        let later = PresenceGraph([record(1, [2: 200]), record(2, [1: 200])])
        #expect(later.connections.map(\.kind) == [.other])
    }

    @Test func `a connection names both peers, the lesser key first`() throws {
        let graph = PresenceGraph([record(9, [4: 2]), record(4, [9: 2])])
        let connection = try #require(graph.connections.first)
        #expect(graph.connections.count == 1)
        #expect(connection.peer1 == peerKey(4) && connection.peer2 == peerKey(9))
        #expect(connection.other(than: peerKey(4)) == peerKey(9))
        #expect(connection.other(than: peerKey(9)) == peerKey(4))
        #expect(connection.id == "\(peerKey(4))<->\(peerKey(9)):tcp")
    }

    @Test func `a peer is shown as it describes itself, without what it does not report`() {
        let described = PeerRecord.Description(
            isServer: true, name: "till", operatingSystem: "Linux", softwareVersion: "1.2",
            metadata: Array(#"{"role":"waiter"}"#.utf8))
        let broken = PeerRecord.Description(metadata: Array("[1]".utf8))
        let graph = PresenceGraph([
            record(1, [2: 2]), record(2, [1: 2], described), record(3, [:], broken),
        ])
        let known = graph.remotePeers[0]
        #expect(known.deviceName == "till" && known.isServer)
        #expect(known.operatingSystem == "Linux" && known.sheafVersion == "1.2")
        #expect(known.metadata == ["role": "waiter"])
        #expect(graph.localPeer.operatingSystem == nil && graph.localPeer.sheafVersion == nil)
        #expect(!graph.localPeer.isServer && graph.localPeer.metadata.isEmpty)
        #expect(graph.remotePeers[1].metadata.isEmpty)
    }

    @Test func `of two records of one peer, the first one counts`() {
        let first = PeerRecord.Description(name: "first")
        let graph = PresenceGraph([
            record(1, [2: 2]), record(2, [1: 2], first), record(2, [1: 2]),
        ])
        #expect(graph[peerKey(2)]?.deviceName == "first")
        #expect(graph.localPeer.connections.count == 1)
    }
}
