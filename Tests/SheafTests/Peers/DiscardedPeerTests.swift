import Sheaf
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Tests of what a replicator forgets when it remembers as many peers as it may.
struct DiscardedPeerTests {
    /// Records peers that were denied a connection.
    private func deny(_ numbers: Range<Int>, _ replicator: Replicator) {
        for number in numbers {
            let ending = [UInt8(number >> 8), UInt8(number & 255)]
            let key = [UInt8](repeating: 200, count: 30) + ending
            replicator.deny(key, at: "10.0.0.7:4120", because: "it has no grant")
        }
    }

    @Test func `beyond the maximum, peers that are not connected are discarded with their cursors`()
        throws
    {
        let most = RememberedPeers.maximumCount
        let scene = try SubscriberScene(["SELECT * FROM cars"])
        try scene.connect()
        try scene.send(5, [("a", ["n": 1])])
        let replicator = scene.replicator
        deny(1..<most, replicator)
        #expect(replicator.rememberedPeerCount == most)
        deny(most..<most + 1, replicator)
        #expect(replicator.rememberedPeerCount == 2)
        // The connected peer keeps its cursor.
        try scene.disconnect()
        try scene.connect()
        #expect(scene.subscriptions.last?.cursor?.commit == 5)
        try scene.disconnect()
        deny(0..<most - 2, replicator)
        #expect(replicator.rememberedPeerCount == most)
        // No other peer is discarded for one that is remembered.
        try scene.connect()
        #expect(scene.subscriptions.last?.cursor?.commit == 5)
        #expect(replicator.rememberedPeerCount == most)
        try scene.disconnect()
        deny(most + 1..<most + 2, replicator)
        #expect(replicator.rememberedPeerCount == 1)
        try scene.connect()
        #expect(scene.subscriptions.count == 4)
        #expect(scene.subscriptions.last?.cursor == nil)
    }
}
