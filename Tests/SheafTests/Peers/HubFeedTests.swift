import Sheaf
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafTestSupport
import Testing

/// Hubs that share their documents by a log, and clients of one hub each.
@Suite struct HubFeedTests {
    private static let all = "SELECT * FROM cars"

    /// Returns two hubs, 0 and 1, with one client each, 2 and 3.
    private func scene(_ log: LogDouble = LogDouble(seed: 1)) throws -> DocumentScene {
        try DocumentScene.hubs(log, 2)
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ id: String) throws {
        try scene.execute(number, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
    }

    @Test func `a document of a client reaches the clients of another hub`() throws {
        let scene = try scene()
        try insert(scene, 2, "a")
        try scene.run(seconds: 2)
        #expect(try scene.rows(3, "SELECT * FROM cars") == ["{\"_id\":\"a\"}"])
        #expect(try scene.checksums() == 1)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) == scene.nodes[2].newestCommit)
    }

    @Test func `a deletion reaches the clients of another hub`() throws {
        let scene = try scene()
        try insert(scene, 2, "a")
        try scene.run(seconds: 2)
        try scene.execute(3, "DELETE FROM cars")
        try scene.run(seconds: 2)
        #expect(try scene.rows(2, "SELECT * FROM cars") == [])
        #expect(try scene.checksums() == 1)
    }

    @Test func `documents are appended once, and not by those that received them`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        try scene.run(seconds: 2)
        let before = log.count
        for number in 0..<10 {
            try insert(scene, 2, "car \(number)")
            try scene.run(seconds: 1)
        }
        try scene.run(seconds: 5)
        #expect(try scene.checksums() == 1)
        #expect(log.count == before + 10)
        let after = log.count
        try scene.run(seconds: 20)
        #expect(log.count == after)
    }

    @Test func `collections that are not shared with servers are appended once they are`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        try scene.execute(
            0,
            """
            ALTER SYSTEM SET user_collection_sync_scopes =
                {'drafts': 'LocalPeerOnly', 'notes': 'SmallPeersOnly'}
            """)
        try scene.run(seconds: 2)
        let before = log.count
        for collection in ["drafts", "notes"] {
            try scene.execute(
                0, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': 'a'})"))
        }
        try scene.run(seconds: 5)
        #expect(log.count == before)
        #expect(try scene.rows(1, "SELECT * FROM drafts") == [])
        try scene.execute(
            0, "ALTER SYSTEM SET user_collection_sync_scopes = {'notes': 'SmallPeersOnly'}")
        try scene.run(seconds: 5)
        #expect(try scene.rows(1, "SELECT * FROM drafts") == ["{\"_id\":\"a\"}"])
        #expect(try scene.rows(1, "SELECT * FROM notes") == [])
        try insert(scene, 2, "b")
        try scene.run(seconds: 5)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) == scene.nodes[2].newestCommit)
    }

    @Test func `a hub evicts no document that may be in no log yet`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        // Another document is in flight, so that the next one waits.
        log.isStopped = true
        for number in 0..<20 {
            try insert(scene, 2, "car \(number)")
            try scene.run()
        }
        for statement in ["EVICT FROM cars", "PROFILE EVICT FROM cars WHERE _id = 'car 19'"] {
            let error = #expect(throws: StoreError.self) {
                try scene.execute(0, DQL(verbatim: statement))
            }
            #expect(error?.message.contains("a hub keeps all documents") ?? false)
        }
        log.isStopped = false
        try scene.execute(2, "EVICT FROM cars WHERE _id = 'car 1'")
        try scene.run(seconds: 5)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 20)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) == scene.nodes[2].newestCommit)
    }

    @Test func `a batch is acknowledged only once the log has stored it`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        log.isStopped = true
        try insert(scene, 2, "a")
        try scene.run(seconds: 5)
        // The clients of the same hub see it all the same.
        #expect(try scene.rows(0, "SELECT * FROM cars").count == 1)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) < scene.nodes[2].newestCommit)
        log.isStopped = false
        try scene.run(seconds: 5)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) == scene.nodes[2].newestCommit)
    }

    @Test func `a batch is acknowledged only once another live hub has stored it`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        try scene.run(seconds: 2)
        log.isolate(1)
        try insert(scene, 2, "a")
        try scene.run(seconds: 5)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) < scene.nodes[2].newestCommit)
        // After ten seconds without a beat, the other hub is not live.
        try scene.run(seconds: 7)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) == scene.nodes[2].newestCommit)
        log.rejoin(1)
        try scene.run(seconds: 5)
        #expect(try scene.checksums() == 1)
    }

    @Test(arguments: 1...20)
    func `all hubs and clients agree whatever the log loses, repeats or reorders`(
        _ seed: UInt64
    ) throws {
        let log = LogDouble(seed: seed, .transient)
        let scene = try scene(log)
        var random = SeededRandom(seed: seed, "hubs")
        for number in 0..<40 {
            let writer = random.below(4)
            let id = "car \(random.below(12))"
            if random.chance(1, in: 4) {
                try scene.execute(writer, DQL(verbatim: "DELETE FROM cars WHERE _id = '\(id)'"))
            } else {
                try scene.execute(
                    writer,
                    DQL(
                        verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)', 'n': \(number)}) "
                            + "ON ID CONFLICT DO UPDATE"))
            }
            try scene.run(steps: random.below(20))
        }
        try scene.run(seconds: 40)
        #expect(try scene.checksums() == 1, "seed \(seed)")
        for (client, hub) in [(2, 0), (3, 1)] {
            let client = scene.nodes[client]
            #expect(client.synced(with: scene.nodes[hub]) == client.newestCommit, "seed \(seed)")
        }
    }

    // MARK: Openings

    @Test func `an empty hub gets all documents from the log`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [Self.all]) }
        try scene.share(LogDouble(seed: 1), among: [0])
        try scene.run()
        for number in 0..<20 { try insert(scene, 0, "car \(number)") }
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'car 3'")
        try scene.run(seconds: 2)
        scene.hubs = [0, 1]
        try scene.joinLog(1)
        try scene.run(seconds: 5)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":19}"])
    }

    @Test func `a store that becomes a hub appends what it has`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<30 { try insert(scene, 0, "car \(number)") }
        try insert(scene, 1, "other")
        let log = LogDouble(seed: 1)
        try scene.share(log, among: [0, 1])
        try scene.run(seconds: 5)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":31}"])
    }

    @Test func `a hub that is opened again continues where it was`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        for number in 0..<10 { try insert(scene, 2, "car \(number)") }
        try scene.run(seconds: 5)
        let before = log.count
        log.disconnect(1)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try insert(scene, 2, "later")
        try scene.run(seconds: 2)
        try scene.joinLog(1)
        try scene.run(seconds: 5)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
        // The later document, and the mark of the new opening.
        #expect(log.count == before + 2)
    }

    @Test func `a hub that is opened again appends nothing that it had appended`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        for number in 0..<10 { try insert(scene, 2, "car \(number)") }
        try scene.run(seconds: 5)
        let before = log.count
        log.disconnect(0)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        try scene.joinLog(0)
        try scene.run(seconds: 20)
        // The mark of the new opening.
        #expect(log.count == before + 1)
    }

    @Test func `a hub without changes makes no commits`() throws {
        let scene = try scene()
        try insert(scene, 2, "a")
        try scene.run(seconds: 5)
        let commits = scene.nodes[0..<2].map(\.newestCommit)
        try scene.run(seconds: 20)
        #expect(scene.nodes[0..<2].map(\.newestCommit) == commits)
    }

    @Test func `documents that a hub could not append before it stopped are appended afterwards`()
        throws
    {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        log.isolate(0)
        try insert(scene, 2, "a")
        try scene.run(seconds: 3)
        #expect(try scene.rows(0, "SELECT * FROM cars").count == 1)
        log.disconnect(0)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        log.rejoin(0)
        try scene.joinLog(0)
        try scene.run(seconds: 5)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
        #expect(try scene.rows(3, "SELECT * FROM cars").count == 1)
    }

    @Test func `a client may use another hub, and what it deleted stays deleted`() throws {
        let scene = try scene()
        for number in 0..<10 { try insert(scene, 2, "car \(number)") }
        try scene.run(seconds: 3)
        try scene.disconnectAll(of: 2)
        try scene.execute(2, "DELETE FROM cars WHERE _id = 'car 1'")
        try scene.execute(3, "UPDATE cars SET n = 1 WHERE _id = 'car 2'")
        try scene.connect(1, 2)
        try scene.run(seconds: 5)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(0, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":9}"])
    }

    @Test func `several shards agree, and each document is in one`() throws {
        let scene = try DocumentScene(2)
        let map = try ShardMap(shardCount: 4, splitCollections: ["cars"])
        let log = LogDouble(seed: 1)
        try scene.share(log, among: [0, 1], map)
        try scene.run()
        for number in 0..<40 { try insert(scene, number % 2, "car \(number)") }
        try scene.run(seconds: 5)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":40}"])
        #expect(log.entries.count == 4 && log.entries.values.allSatisfy { $0.count > 2 })
    }
}
