import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Batches, requests and segments that exceed a limit.
@Suite struct LongBatchTests {
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"
    private let boats: DQL = "SELECT * FROM boats ORDER BY _id"

    /// Returns a peer with boats and rewritten cars, and a peer that subscribes to them.
    private func scene(_ limits: ReplicatorLimits) throws -> DocumentScene {
        let scene = try DocumentScene(2, limits)
        for collection in ["cars", "boats", "cars"] {
            let cars = (0..<60).map { "({'_id': '\(collection)\($0)', 'n': \($0)})" }
            try scene.execute(
                0,
                DQL(
                    verbatim: "INSERT INTO \(collection) DOCUMENTS \(cars.joined(separator: ", ")) "
                        + "ON ID CONFLICT DO UPDATE"))
        }
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM boats"])
        return scene
    }

    private func stagingLimits() -> ReplicatorLimits {
        var limits = ReplicatorLimits()
        (limits.part, limits.inMemory) = (200, 500)
        return limits
    }

    @Test func `a batch beyond the memory limit is spilled, and becomes visible atomically`()
        throws
    {
        let scene = try scene(stagingLimits())
        scene.nodes[1].volume.startTrace()
        try scene.connect(0, 1)
        var counts: Set<Int> = []
        for _ in 0..<2_000 {
            try scene.run(steps: 1)
            counts.insert(try scene.rows(1, all).count)
        }
        #expect(counts == [0, 60])
        #expect(try scene.rows(1, all) == scene.rows(0, all))
        #expect(try scene.rows(1, boats) == scene.rows(0, boats))
        #expect(scene.nodes[1].volume.trace.contains(".tmp"))
        // The temporary file is deleted.
        let names = try scene.nodes[1].volume.names()
        #expect(!names.contains { $0.hasSuffix(".tmp") })
    }

    private static let faults: [(SimulatedFault.Effect, VolumeError.Operation)] = [
        (.error(.noSpace), .create), (.error(.noSpace), .write), (.error(.noSpace), .read),
        (.flipped, .read),
    ]

    @Test(arguments: faults)
    func `a failing spill file ends the connection, and the store stays usable`(
        _ effect: SimulatedFault.Effect, _ operation: VolumeError.Operation
    ) throws {
        let scene = try scene(stagingLimits())
        scene.nodes[1].volume.inject(
            SimulatedFault(effect, of: operation, onFilesEndingIn: ".tmp", forEver: true))
        let wire = try scene.connect(0, 1)
        try scene.run()
        #expect(!scene.isConnected(wire))
        #expect(scene.nodes[1].closeMessages == [CloseMessage(.failed, "the store cannot write")])
        #expect(try scene.rows(1, all).isEmpty)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'mine'})")
        #expect(try scene.rows(1, all).count == 1)
        scene.nodes[1].volume.removeFaults()
        try scene.connect(0, 1)
        try scene.run()
        #expect(try scene.rows(1, all).count == 61)
    }

    @Test func `a batch too long for one commit is written in several, and is synced at the end`()
        throws
    {
        var limits = stagingLimits()
        limits.step = 700
        let scene = try scene(limits)
        let newest = scene.nodes[0].newestCommit
        let wire = try scene.connect(0, 1)
        var counts: [Int] = []
        for _ in 0..<5_000 where scene.isConnected(wire) && counts.last ?? 0 < 80 {
            try scene.run(steps: 1)
            let count = try scene.rows(1, all).count + scene.rows(1, boats).count
            if count != counts.last { counts.append(count) }
            #expect(scene.nodes[0].synced(with: scene.nodes[1]) == 0)
        }
        #expect(counts.count > 3)
        // Documents that have arrived are not sent again.
        try scene.disconnect(wire)
        let sent = scene.nodes[0].replicator.statistics.documentsSent
        try scene.connect(0, 1)
        try scene.run()
        #expect(try scene.rows(1, all) == scene.rows(0, all))
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == newest)
        #expect(
            scene.nodes[0].replicator.statistics.documentsSent - sent < 120
                - UInt64(counts.last ?? 0) + 1
        )
        // Later changes are sent commit by commit.
        try scene.execute(0, "UPDATE cars SET n = 7 WHERE _id = 'cars1'")
        try scene.run()
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }

    /// Covers changed documents, documents that match no longer, and documents of the receiver.
    @Test func `more differing documents than one request may name are requested in parts`() throws
    {
        var limits = ReplicatorLimits()
        limits.wanted = 7
        let scene = try DocumentScene(2, limits)
        for id in 10..<50 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS ({'_id': :id, 'level': 1})",
                ["id": Value.integer(Int64(id))])
        }
        let low = "SELECT * FROM cars WHERE level < 5"
        try scene.subscribe(1, [low])
        let wire = try scene.connect(0, 1)
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET level = 9 WHERE _id < 30")
        try scene.execute(0, "UPDATE cars SET level = 2 WHERE _id >= 30")
        for id in 50..<75 {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': :id, 'level': 1})",
                ["id": Value.integer(Int64(id))])
        }
        // A wider subscription has no cursor.
        try scene.subscribe(1, [low, "SELECT * FROM boats"])
        let sent = scene.nodes[1].sent.count
        try scene.connect(0, 1)
        for _ in 0..<40 {
            try scene.run()
            try scene.advance(milliseconds: 1_000)
        }
        let levels = try scene.rows(1, "SELECT level, COUNT(*) AS n FROM cars GROUP BY level")
        #expect(
            Set(levels) == [
                #"{"level":1,"n":25}"#, #"{"level":2,"n":20}"#, #"{"level":9,"n":20}"#,
            ])
        // 40 documents that differ, and 25 that only the receiver has, seven in each part.
        let frames = scene.nodes[1].sent[sent...]
        #expect((10...14).contains(frames.count { $0 == .want }))
        #expect(frames.count { $0 == .subscribe } == 1)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        #expect(scene.nodes[1].closeMessages.isEmpty && scene.nodes[0].closeMessages.isEmpty)
    }

    @Test func `a segment with too many documents is rejected`() throws {
        var writer = CommitWriter()
        writer.begin(1, stamp: nil)
        for _ in 0..<SyncLimits.segmentDocuments {
            [0x40].withUnsafeBytes { writer.add("c", id: $0, .state, $0) }
        }
        writer.end(isContinued: false)
        var names = NameTable()
        let bytes = [0] + writer.bytes
        #expect(throws: Malformed.self) {
            try bytes.withUnsafeBytes { _ = try WireNameDictionary.commits(in: $0, &names) }
        }
    }
}
