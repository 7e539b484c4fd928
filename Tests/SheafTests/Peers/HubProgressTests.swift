import Sheaf
import SheafDocument
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafTestSupport
import Testing

/// Hubs that lag, or are stuck, while others go on.
@Suite struct HubProgressTests {
    /// Inserts a document, and returns the commit with it.
    @discardableResult
    private func insert(
        _ scene: DocumentScene, _ number: Int, _ id: String, into collection: String = "cars"
    ) throws -> UInt64 {
        try scene.execute(
            number, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': '\(id)'})"))
        return scene.nodes[number].newestCommit
    }

    /// Whether the first hub has acknowledged a commit of its client.
    private func isAcknowledged(_ commit: UInt64, _ scene: DocumentScene) -> Bool {
        scene.nodes[2].synced(with: scene.nodes[0]) >= commit
    }

    @Test func `hubs do not wait for one that has not caught up`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.share(log, among: [0])
        try scene.run()
        try scene.connect(0, 2)
        try scene.run(seconds: 3)
        // The other hub is live, and reads the log from the beginning.
        log.undelivered = [1]
        scene.hubs = [0, 1]
        try scene.joinLog(1)
        try scene.run(seconds: 2)
        let first = try insert(scene, 2, "a")
        try scene.run(seconds: 3)
        #expect(scene.nodes[0].replicator.hubStatus?.others.filter(\.isLive).count == 1)
        #expect(isAcknowledged(first, scene))
        // Once it has caught up, commits wait for it.
        log.undelivered = []
        try scene.run(seconds: 3)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
        log.undelivered = [1]
        let second = try insert(scene, 2, "b")
        try scene.run(seconds: 3)
        #expect(!isAcknowledged(second, scene))
    }

    @Test func `hubs do not wait for one that cannot read a group`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(4)
        for number in 0..<4 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        // Of two hubs with different maps, the second refuses documents in the wrong shard.
        scene.log = log
        scene.hubs = [0, 1]
        try scene.joinLog(0, try ShardMap(shardCount: 2, splitCollections: ["cars"]))
        try scene.joinLog(1, try ShardMap(shardCount: 2))
        try scene.run()
        try scene.connect(0, 2)
        try scene.run(seconds: 3)
        for number in 0..<19 { try insert(scene, 2, "car \(number)") }
        let last = try insert(scene, 2, "car 19")
        try scene.run(seconds: 5)
        let blocked = scene.nodes[1].replicator.hubStatus?.shards.filter(\.isBlocked) ?? []
        #expect(blocked.count == 1)
        #expect(scene.nodes[0].replicator.hubStatus?.others.filter(\.isLive).count == 1)
        #expect(isAcknowledged(last, scene))
    }

    @Test func `a shard whose groups cannot be written does not delay the others`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(3)
        let map = try ShardMap(shardCount: 2)
        let names = (0..<100).map { "cars\($0)" }
        let collections = try (0..<2).map { shard in
            let found = names.first {
                map.shard(of: DocumentAddress(collection: $0, id: [])) == shard
            }
            return try #require(found)
        }
        // The clock of the first hub is ahead, so that its documents wait.
        scene.nodes[0].clock.advance(milliseconds: 480_000)
        try scene.share(log, among: [0, 1, 2], map)
        try scene.run(seconds: 3)
        try insert(scene, 0, "ahead", into: collections[0])
        try scene.run(seconds: 2)
        try insert(scene, 2, "a", into: collections[1])
        try scene.run(seconds: 5)
        let (waiting, others) = (collections[0], collections[1])
        #expect(try scene.rows(1, DQL(verbatim: "SELECT * FROM \(waiting)")) == [])
        #expect(try scene.rows(1, DQL(verbatim: "SELECT * FROM \(others)")).count == 1)
    }

    @Test func `a hub that is slower than another one acknowledges while entries arrive`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        log.deliveries[0] = 0
        for number in 0..<20 {
            try insert(scene, 3, "before \(number)")
            try scene.run()
        }
        let commit = try insert(scene, 2, "a")
        try scene.run()
        // It reads one entry a second, and as many are appended.
        for number in 0..<60 {
            try insert(scene, 3, "after \(number)")
            log.deliveries[0] = 1
            try scene.run(seconds: 1)
        }
        #expect(log.count > 80)
        #expect(isAcknowledged(commit, scene))
    }

    @Test func `each entry that contains no message is counted as damage`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        let hubs = scene.nodes[0..<2].map(\.replicator)
        #expect(hubs.map { $0.hubProgress?.faults["damage"] } == [nil, nil])
        for number in 1...3 {
            log.insert([0, 0, UInt8(number)], into: 0)
            try scene.run()
            let counts = hubs.map { $0.hubProgress?.faults["damage"] }
            #expect(counts == [UInt64(number), UInt64(number)])
        }
    }
}
