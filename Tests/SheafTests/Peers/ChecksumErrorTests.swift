import Sheaf
import SheafTransport
import Testing

/// Errors of queries that are evaluated for a peer, outside of a statement.
struct ChecksumErrorTests {
    @Test func `an evaluation error keeps its reason and hint on its way through the engine`()
        async throws
    {
        let scene = try await PeerScene(1)
        let peer = scene.peers[0]
        try await peer.store.execute(
            "INSERT INTO cars DOCUMENTS ({ '_id': 1, 'color': 'blue', 'flags': 'q' })")
        let condition: DQL = "SELECT * FROM cars WHERE regexp_like(color, 'b', flags)"
        let thrown = await #expect(throws: StoreError.self) {
            try await peer.store.execute(condition)
        }
        let failure = try #require(thrown)
        #expect(failure.hint == "the flags are i, m, s and x")
        #expect(throws: failure) { try peer.sync.checksum(of: condition) }
        try await scene.close()
    }
}
