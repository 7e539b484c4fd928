import Sheaf
import Testing

/// Rows of `system:presence`: the numbers of connections, and the sites of peers.
@Suite struct PresenceRowTests {
    /// Returns two connected peers, the second of which has received a document of the first.
    private func pair() async throws -> (PeerScene, Peer, Peer) {
        let scene = try await PeerScene(2)
        let (left, right) = (scene.peers[0], scene.peers[1])
        try right.sync.registerSubscription("SELECT * FROM cars")
        scene.connect(0, 1)
        let written = try await left.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try await left.sync.wait(for: try #require(written.commitID), on: right.key)
        return (scene, left, right)
    }

    private func rows(_ peer: Peer, _ query: String) async throws -> [Object] {
        try await peer.store.execute(DQL(verbatim: query)).items.map { try $0.value }
    }

    private func connection(of peer: Peer) async throws -> Object {
        let row = try await rows(peer, "SELECT connections FROM system:presence WHERE distance = 0")
        guard case .array(let list)? = row.first?["connections"],
            case .object(let connection)? = list.first
        else { return [:] }
        return connection
    }

    @Test func `a connection has its bytes and the number of unconfirmed commits`() async throws {
        let (scene, left, right) = try await pair()
        // Both counters grow; what was received was sent before.
        let receiver = try await connection(of: right)
        let sender = try await connection(of: left)
        guard case .integer(let received)? = receiver["bytesReceived"],
            case .integer(let sent)? = sender["bytesSent"]
        else {
            Issue.record("the connection has no bytes: \(receiver), \(sender)")
            return
        }
        #expect(received > 0 && sent >= received)
        #expect(sender["lag"] == .integer(0))
        // The left peer has no subscription, so it confirms nothing.
        #expect(receiver["lag"] == .null)
        try await scene.close()
    }

    @Test func `the local peer and its neighbors have the sites of their stamps`() async throws {
        let (scene, left, right) = try await pair()
        let written = try await rows(right, "SELECT site FROM system:history")
        #expect(written.count == 1)
        for (peer, distance) in [(left, 0), (right, 1)] {
            let query = "SELECT site FROM system:presence WHERE distance = \(distance)"
            #expect(try await rows(peer, query) == written)
        }
        try await scene.close()
    }
}
