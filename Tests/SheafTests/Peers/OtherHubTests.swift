import SheafBytes
import SheafDocument
import SheafHubLog
import SheafReplication
import Testing

/// Tests of what a hub knows about another one from its beats.
@Suite struct OtherHubTests {
    private static let log = HubLogID(low: 7, high: 8)

    /// A hub that has read a shard up to an entry, and the digest at each entry of the shard.
    private struct Scene {
        var reader = ShardReader(log: OtherHubTests.log, shard: 0)
        var digests: [UInt64] = [0]
        var hub = OtherHub(key: [1], lastBeat: 100, isDraining: false)

        init(read count: Int, of total: Int) {
            var all = reader
            for number in 1...total {
                let entry = HubLogEntry(UInt64(number), [UInt8(number)])
                all.receive(entry, at: 0)
                if number <= count { reader.receive(entry, at: 0) }
                digests.append(all.digest)
            }
        }

        /// Reads the next entry of the shard.
        mutating func readNext() {
            let next = reader.read + 1
            reader.receive(HubLogEntry(next, [UInt8(next)]), at: 0)
            hub.confirm(0, reader)
        }

        /// Reports a progress of the other hub, as a beat does.
        mutating func report(read: Int, stored: UInt64, hasOtherDigest: Bool = false) {
            let digest = digests[read] &+ (hasOtherDigest ? 1 : 0)
            hub.shards[0] = ShardProgress(read: UInt64(read), digest: digest, stored: stored)
            hub.confirm(0, reader)
        }
    }

    @Test func `a hub is live for ten seconds after its last beat, unless it drains`() {
        var hub = OtherHub(key: [1], lastBeat: 100, isDraining: false)
        let limits = HubFeedLimits()
        #expect(hub.isLive(at: 100, limits) && hub.isLive(at: 10_000_000_099, limits))
        #expect(!hub.isLive(at: 10_000_000_100, limits))
        hub.isDraining = true
        #expect(!hub.isLive(at: 100, limits))
    }

    @Test func `entries of a hub count as stored if its digest is that of this hub`() {
        var scene = Scene(read: 3, of: 3)
        scene.hub.confirm(0, scene.reader)
        #expect(scene.hub.confirmed.isEmpty)
        scene.report(read: 2, stored: 2, hasOtherDigest: true)
        #expect(scene.hub.confirmed.isEmpty)
        scene.report(read: 2, stored: 1)
        #expect(scene.hub.confirmed == [0: 1])
        // A report that is late does not revoke anything.
        scene.report(read: 3, stored: 0)
        #expect(scene.hub.confirmed == [0: 1])
        scene.report(read: 3, stored: 3)
        #expect(scene.hub.confirmed == [0: 3])
        scene.hub.confirm(1, scene.reader)
        #expect(scene.hub.confirmed == [0: 3])
    }

    @Test func `a hub that lags compares each earlier report once it has read as far`() {
        var scene = Scene(read: 1, of: 6)
        scene.report(read: 3, stored: 2)
        scene.readNext()
        #expect(scene.hub.confirmed.isEmpty)
        // Later reports do not replace the first one.
        scene.report(read: 5, stored: 4)
        scene.report(read: 6, stored: 6)
        #expect(scene.hub.confirmed.isEmpty)
        scene.readNext()
        #expect(scene.hub.confirmed == [0: 2])
        for _ in 0..<2 {
            scene.readNext()
            #expect(scene.hub.confirmed == [0: 2])
        }
        scene.readNext()
        #expect(scene.hub.confirmed == [0: 6])
    }

    @Test func `an earlier report with another digest does not count`() {
        var scene = Scene(read: 1, of: 3)
        scene.report(read: 2, stored: 2, hasOtherDigest: true)
        scene.readNext()
        #expect(scene.hub.confirmed.isEmpty)
        scene.report(read: 2, stored: 1)
        #expect(scene.hub.confirmed == [0: 1])
    }
}
