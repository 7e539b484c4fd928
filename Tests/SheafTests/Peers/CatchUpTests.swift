import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Catching up with documents that changed twice between two batches to a peer.
@Suite struct CatchUpTests {
    private let all: DQL = "SELECT _id FROM cars ORDER BY _id"

    /// Makes peer 0 change a document of peer 1 before sending anything about it.
    private func comeAndGo(
        _ query: String, _ insert: DQL, _ change: DQL, rights: PeerRights? = nil
    ) throws -> DocumentScene {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [query]) }
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first', 'level': 9})")
        try scene.run()
        try scene.execute(1, insert)
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, change)
        try scene.connect(0, 1, rightsOfRight: rights)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        return scene
    }

    @Test(arguments: [nil, PeerRights(read: ["cars": "true"], write: ["cars": "true"])])
    func `a deletion reaches the peer that wrote the document`(_ rights: PeerRights?) throws {
        let scene = try comeAndGo(
            "SELECT * FROM cars", "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})",
            "DELETE FROM cars WHERE _id = 'a'", rights: rights)
        #expect(try scene.rows(0, all) == [#"{"_id":"first"}"#])
        #expect(try scene.rows(1, all) == [#"{"_id":"first"}"#])
    }

    @Test func `a change after which a document matches no query reaches the peer that wrote it`()
        throws
    {
        let scene = try comeAndGo(
            "SELECT * FROM cars WHERE level < 5",
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})",
            "UPDATE cars SET level = 7 WHERE _id = 'a'")
        #expect(try scene.rows(1, "SELECT level FROM cars") == [#"{"level":7}"#])
    }

    /// Makes a document match only between the first and the last write.
    @Test func `a document that matched temporarily is sent in its newest state`() throws {
        let scene = try DocumentScene(2)
        let low = "SELECT * FROM cars WHERE level < 5"
        try scene.subscribe(1, [low])
        var wire = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 9})")
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET level = 3 WHERE _id = 'a'")
        wire = try scene.connect(0, 1)
        scene.nodes[1].isBusy = true
        try scene.run()
        // The disconnect loses the message, and the sender cannot know whether it arrived.
        try scene.disconnect(wire)
        scene.nodes[1].isBusy = false
        try scene.run()
        try scene.execute(0, "UPDATE cars SET level = 8 WHERE _id = 'a'")
        try scene.connect(0, 1)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, "SELECT level FROM cars") == [#"{"level":8}"#])
    }

    /// Discards the former states, on which the read rule would be evaluated.
    ///
    /// The peer receives deletions of the document that it wrote, and of one that is readable
    /// because of its `_id`. The other document may never have been readable, so the peer keeps it.
    @Test(arguments: [false, true])
    func `a peer with limited rights learns of deletions of the documents that it wrote`(
        _ isWrittenLate: Bool
    ) throws {
        let scene = try DocumentScene(2)
        let rights = PeerRights(
            read: ["cars": "level < 5", "planes": "_id = 'p'"], write: ["cars": "true"])
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM planes"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first', 'level': 1})")
        try scene.execute(0, "INSERT INTO planes DOCUMENTS ({'_id': 'p', 'level': 1})")
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        scene.nodes[0].isBusy = isWrittenLate
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})")
        try scene.run()
        try scene.disconnect(wire)
        scene.nodes[0].isBusy = false
        try scene.run()
        #expect(try scene.rows(0, all).count == 2)
        #expect(try scene.rows(1, all).count == 2)
        #expect(try scene.rows(1, "SELECT _id FROM planes").count == 1)
        try scene.execute(0, "DELETE FROM cars")
        try scene.execute(0, "DELETE FROM planes")
        for number in 0..<1_600 {
            try scene.execute(
                0, "INSERT INTO boats DOCUMENTS ({'_id': :id}) ON ID CONFLICT DO UPDATE",
                ["id": Value.integer(Int64(number % 50))])
        }
        try scene.nodes[0].store.compact()
        scene.nodes[0].replicator.processPublished()
        #expect(scene.nodes[0].store.queries.documents.snapshot().log.compactedThrough > 10)
        try scene.connect(0, 1, rightsOfRight: rights)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(scene.nodes[0].sent.contains(.restart))
        #expect(try scene.rows(1, all) == [#"{"_id":"first"}"#])
        #expect(try scene.rows(1, "SELECT _id FROM planes").isEmpty)
    }

    /// Delays the flush of the insertion until the deletion, so no state in between is sent.
    @Test(arguments: ["SELECT * FROM cars", "SELECT * FROM cars ORDER BY level LIMIT 2"])
    func `a deletion made durable together with the insertion reaches the writer`(_ query: String)
        throws
    {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [query]) }
        try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first', 'level': 9})")
        try scene.run()
        scene.nodes[0].flushesLate = true
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})")
        try scene.run()
        scene.nodes[0].flushesLate = false
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'a'")
        try scene.run()
        #expect(try scene.rows(1, all) == [#"{"_id":"first"}"#])
    }

    /// Deletes a document of the first part before the last part is sent.
    @Test(arguments: [["SELECT * FROM boats"], ["SELECT * FROM boats ORDER BY n LIMIT 3"]])
    func `a deletion reaches a peer that received the document in an earlier part`(
        _ queries: [String]
    ) throws {
        var limits = ReplicatorLimits()
        limits.wanted = 7
        let scene = try DocumentScene(2, limits)
        for id in 10..<20 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS ({'_id': :id})", ["id": Value.integer(Int64(id))])
        }
        for id in 50..<75 {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': :id})", ["id": Value.integer(Int64(id))])
        }
        try scene.subscribe(1, ["SELECT * FROM cars"] + queries)
        try scene.connect(0, 1)
        var parts = 0
        for _ in 0..<1_000 {
            try scene.run(steps: 1)
            let count = scene.nodes[1].sent.count { $0 == .want }
            if count == 3, parts < 3 { try scene.execute(0, "DELETE FROM cars WHERE _id = 10") }
            parts = count
        }
        for _ in 0..<20 { try scene.advance(milliseconds: 1_000) }
        #expect(parts >= 5)
        #expect(try scene.rows(0, "SELECT * FROM cars WHERE _id < 50").count == 9)
        #expect(try scene.rows(1, "SELECT * FROM cars WHERE _id < 50").count == 9)
        #expect(try scene.rows(1, all).count == 34)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        #expect(scene.nodes[1].closeMessages.isEmpty && scene.nodes[0].closeMessages.isEmpty)
    }

    private let lowRights = PeerRights(read: ["cars": "level < 5"], write: [:])

    /// Returns peers of which the second one has a document that it could read for a while.
    private func temporarilyReadable() throws -> DocumentScene {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 9})")
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'level': 1})")
        let wire = try scene.connect(0, 1, rightsOfRight: lowRights)
        try scene.run()
        scene.nodes[1].isBusy = true
        try scene.execute(0, "UPDATE cars SET level = 3 WHERE _id = 'a'")
        try scene.run()
        scene.nodes[1].isBusy = false
        try scene.run(steps: 1)
        scene.nodes[1].isBusy = true
        try scene.run()
        try scene.disconnect(wire)
        scene.nodes[1].isBusy = false
        try scene.run()
        #expect(try scene.rows(1, all).count == 2)
        return scene
    }

    /// Changes document `a` of peer 0, so that it is not readable and matches no query.
    private func change(_ count: Int, in scene: DocumentScene) throws {
        for number in 0..<count {
            try scene.execute(
                0, "UPDATE cars SET level = :level WHERE _id = 'a'",
                ["level": Value.integer(Int64(10 + number))])
        }
    }

    @Test func `a deletion reaches a peer that could read the document temporarily`() throws {
        let scene = try temporarilyReadable()
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'a'")
        try scene.connect(0, 1, rightsOfRight: lowRights)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, all).count == 1)
    }

    /// The deletion is one of the states, and so is the one that the peer could read.
    @Test(arguments: [(29, 1), (30, 1), (31, 2)])
    func `a deletion reaches a peer that could read one of the last 32 states`(
        _ changes: Int, _ expected: Int
    ) throws {
        let scene = try temporarilyReadable()
        try change(changes, in: scene)
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'a'")
        try scene.connect(0, 1, rightsOfRight: lowRights)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, all).count == expected)
    }

    /// The peer might have written one of the states that are not examined.
    @Test(arguments: [(32, 1), (33, 1), (34, 2)])
    func `a document is sent without a match only if more than 32 former states are unknown`(
        _ changes: Int, _ expected: Int
    ) throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars WHERE level < 5"])
        let wire = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 9})")
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'level': 1})")
        for _ in 0..<2 { try scene.advance(milliseconds: 1_000) }
        try scene.disconnect(wire)
        #expect(try scene.rows(1, all) == [#"{"_id":"b"}"#])
        // The newest state is none of the former ones.
        try change(changes, in: scene)
        try scene.connect(0, 1)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, all).count == expected)
    }
}
