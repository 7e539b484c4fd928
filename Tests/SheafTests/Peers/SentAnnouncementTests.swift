import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import Testing

/// Tests of a replicator whose peer requests announcements in place of documents.
struct SentAnnouncementTests {
    private func scene(_ query: String) throws -> SubscriberScene {
        let scene = try SubscriberScene(["SELECT * FROM cars"])
        try scene.connect()
        try scene.subscribePeer(to: query)
        try scene.announceOnly()
        return scene
    }

    private func newestCommit(_ scene: SubscriberScene) -> UInt64 {
        scene.store.queries.documents.snapshot().log.commit
    }

    private func entry(_ id: String, _ scene: SubscriberScene) throws -> Announce.Entry {
        Announce.Entry(
            address: try SubscriberScene.address(id),
            vector: try #require(try scene.vector(of: id)))
    }

    @Test func `a commit is announced with the stored versions of the matching documents`() throws {
        let scene = try scene("SELECT * FROM cars WHERE color = 'red'")
        try scene.join("a", ["color": "red"], at: 10)
        var expected = Announce(
            generation: 1, commit: newestCommit(scene), [try entry("a", scene)])
        #expect(scene.announced.last == expected)
        try scene.execute(
            """
            INSERT INTO cars DOCUMENTS ({'_id': 'd', 'color': 'red'}),
                ({'_id': 'c', 'color': 'blue'}), ({'_id': 'b', 'color': 'red'})
            """)
        expected = Announce(
            generation: 1, commit: newestCommit(scene),
            [try entry("b", scene), try entry("d", scene)])
        #expect(scene.announced.last == expected)
        // A document that matched before is announced, too.
        try scene.execute("UPDATE cars SET color = 'blue' WHERE _id = 'a'")
        expected = Announce(
            generation: 1, commit: newestCommit(scene), [try entry("a", scene)])
        #expect(scene.announced.last == expected)
        try scene.execute("UPDATE cars SET color = 'green' WHERE _id = 'a'")
        #expect(scene.announced.last?.entries == [])
        #expect(scene.announced.last?.commit == newestCommit(scene))
        #expect(scene.received == [])
    }

    @Test func `a position that only the batches of the peer advanced is announced 100 ms later`()
        throws
    {
        let scene = try scene("SELECT * FROM cars")
        try scene.advance(milliseconds: 1_000)
        let count = scene.announced.count
        try scene.send(5, [("a", ["n": 1])])
        #expect(scene.acknowledged == [5])
        try scene.advance(milliseconds: 99)
        #expect(scene.announced.count == count)
        try scene.advance(milliseconds: 1)
        #expect(scene.announced.count == count + 1)
        let position = Announce(generation: 1, commit: newestCommit(scene), [])
        #expect(scene.announced.last == position && scene.received == [])
        // A commit of this store before that announces both.
        try scene.send(6, [("b", ["n": 1])])
        try scene.join("c", ["n": 1], at: 10)
        let both = Announce(generation: 1, commit: newestCommit(scene), [try entry("c", scene)])
        #expect(scene.announced.last == both)
        try scene.advance(milliseconds: 1_000)
        #expect(scene.announced.count == count + 2)
    }

    @Test func `the result of a query with a limit is sent, and not announced`() throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 5")
        try scene.join("a", ["n": 1], at: 10)
        #expect(scene.received == ["a"])
        #expect(!scene.announced.contains { !$0.entries.isEmpty })
    }

    @Test func `a read repair is sent, and not announced`() throws {
        let scene = try scene("SELECT * FROM cars WHERE color = 'red'")
        try scene.join("a", ["color": "blue"], at: 10)
        #expect(scene.received == [])
        try scene.announce(5, [SubscriberScene.entry("a", at: 9)])
        #expect(scene.received == ["a"])
        // Later commits are announced again.
        try scene.join("b", ["color": "red"], at: 10)
        let later = try entry("b", scene)
        #expect(scene.announced.last?.entries == [later])
        #expect(scene.received == ["a"])
    }
}
