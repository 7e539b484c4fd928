import Sheaf
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// What has come and gone while nobody was told.
@Suite struct CatchingUpTests {
    private let all: Query = "SELECT _id FROM cars ORDER BY _id"

    /// What one peer has written comes to the other one, which takes it away before it has said anything of it.
    private func comeAndGo(
        _ wish: String, _ insert: Query, _ change: Query, rights: PeerRights? = nil
    ) throws -> DocumentScene {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [wish]) }
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
    func `what a peer has written is deleted there as well`(_ rights: PeerRights?) throws {
        let scene = try comeAndGo(
            "SELECT * FROM cars", "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})",
            "DELETE FROM cars WHERE _id = 'a'", rights: rights)
        #expect(try scene.rows(0, all) == [#"{"_id":"first"}"#])
        #expect(try scene.rows(1, all) == [#"{"_id":"first"}"#])
    }

    @Test func `what a peer has written matches no more, and it hears of that`() throws {
        let scene = try comeAndGo(
            "SELECT * FROM cars WHERE level < 5",
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})",
            "UPDATE cars SET level = 7 WHERE _id = 'a'")
        #expect(try scene.rows(1, "SELECT level FROM cars") == [#"{"level":7}"#])
    }

    /// It matches in between alone.
    @Test func `what has matched for a while is told as it is now`() throws {
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
        // What was told is lost, and perhaps it was not.
        try scene.disconnect(wire)
        scene.nodes[1].isBusy = false
        try scene.run()
        try scene.execute(0, "UPDATE cars SET level = 8 WHERE _id = 'a'")
        try scene.connect(0, 1)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, "SELECT level FROM cars") == [#"{"level":8}"#])
    }

    /// The log has no state left that a rule could read.
    ///
    /// A peer that has written to a document may know of it; another document may never have been readable, and stays.
    @Test(arguments: [false, true])
    func `a peer with limited rights learns of deletions of what it has written`(
        _ isWrittenLate: Bool
    ) throws {
        let scene = try DocumentScene(2)
        let rights = PeerRights(read: ["cars": "level < 5"], write: ["cars": "true"])
        for number in 0...1 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first', 'level': 1})")
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
        try scene.execute(0, "DELETE FROM cars")
        for number in 0..<1_600 {
            try scene.execute(
                0, "INSERT INTO boats DOCUMENTS ({'_id': :id}) ON ID CONFLICT DO UPDATE",
                ["id": Value.integer(Int64(number % 50))])
        }
        try scene.nodes[0].store.compact()
        scene.nodes[0].host.notePublished()
        #expect(scene.nodes[0].store.queries.documents.snapshot().log.foldedThrough > 10)
        try scene.connect(0, 1, rightsOfRight: rights)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(scene.nodes[0].sent.contains(.restart))
        #expect(try scene.rows(1, all) == [#"{"_id":"first"}"#])
    }

    /// What came and what took it away become durable at once, so that nobody is told of anything in between.
    @Test(arguments: ["SELECT * FROM cars", "SELECT * FROM cars ORDER BY level LIMIT 2"])
    func `what a peer has written is deleted at once`(_ wish: String) throws {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, [wish]) }
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

    /// One that was sent with the first part is deleted before the last one is sent.
    @Test(arguments: [["SELECT * FROM boats"], ["SELECT * FROM boats ORDER BY n LIMIT 3"]])
    func `a document is deleted that was sent with an earlier part`(_ others: [String]) throws {
        var lengths = SyncHost.Lengths()
        lengths.wanted = 7
        let scene = try DocumentScene(2, lengths)
        for id in 10..<20 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS ({'_id': :id})", ["id": Value.integer(Int64(id))])
        }
        for id in 50..<75 {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': :id})", ["id": Value.integer(Int64(id))])
        }
        try scene.subscribe(1, ["SELECT * FROM cars"] + others)
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
        #expect(scene.nodes[1].farewells.isEmpty && scene.nodes[0].farewells.isEmpty)
    }

    @Test func `what could be read for a while is deleted`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let rights = PeerRights(read: ["cars": "level < 5"], write: [:])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 9})")
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'level': 1})")
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
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
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'a'")
        try scene.connect(0, 1, rightsOfRight: rights)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, all).count == 1)
    }
}
