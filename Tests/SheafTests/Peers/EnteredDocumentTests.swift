import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// The documents in each batch for a peer with a LIMIT, and for one with limited rights.
struct EnteredDocumentTests {
    /// Runs a statement, and returns the batches that the second peer then receives.
    private func texts(
        _ scene: DocumentScene, _ sent: SentTranscript, _ number: Int, _ statement: DQL
    ) throws -> [String] {
        try scene.execute(number, statement)
        try scene.run()
        try scene.advance(milliseconds: 1_000)
        return sent.drainTexts()
    }

    // MARK: Rankings

    /// A peer with limited rights gets no batch without documents, and no number of documents.
    @Test(arguments: [false, true])
    func `a batch has the changed documents of a ranking, then those that enter it`(
        _ isLimited: Bool
    ) throws {
        let scene = try DocumentScene(2)
        for (id, n) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] as [(String, Int64)] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "n": .integer(n)] as Value])
        }
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.subscribe(1, ["SELECT * FROM cars ORDER BY n LIMIT 2"])
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "true"])
        let sent = try scene.connectRecorded(0, 1, rightsOfRight: isLimited ? rights : nil).sent
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
        #expect(sent.drainTexts().first == "a b (of \(isLimited ? 0 : 2))")
        func batches(_ number: Int, _ statement: DQL) throws -> [String] {
            try texts(scene, sent, number, statement)
        }
        let (end, nothing): (String, [String]) =
            isLimited ? ("", []) : (" (of 0)", ["(of 0)"])
        let inserted = try batches(0, "INSERT INTO cars DOCUMENTS ({'_id': 'e', 'n': 0})")
        #expect(inserted == ["e\(end)"])
        #expect(try batches(0, "UPDATE cars SET n = 9 WHERE _id = 'd'") == nothing)
        #expect(try batches(0, "UPDATE cars SET n = 0.5 WHERE _id = 'a'") == ["a\(end)"])
        #expect(try batches(0, "UPDATE cars SET n = 0.2 WHERE _id = 'e'") == ["e\(end)"])
        // The own changes of the peer are not sent back.
        #expect(try batches(1, "UPDATE cars SET n = 0.3 WHERE _id = 'a'") == nothing)
        let deleted = try batches(1, "DELETE FROM cars WHERE _id = 'e'")
        if isLimited {
            // For a peer with limited rights, a deleted document counts as one that left the result
            // in its last readable state. As `b` sorts after it, the peers compare, and find that
            // they have the same documents.
            #expect(deleted.first == "restart ")
            let ids = deleted.flatMap { $0.split(separator: " ") }.filter { $0.count == 1 }
            #expect(ids == [])
        } else {
            #expect(deleted == ["b (of 0)"])
        }
        #expect(try scene.rows(0, "SELECT n FROM cars WHERE _id = 'a'") == [#"{"n":0.3}"#])
        // Documents that follow the first result may be outdated at the peer.
        #expect(try batches(0, "DELETE FROM cars WHERE _id = 'a'").first == "restart ")
        for _ in 0..<3 { try scene.advance(milliseconds: 5_000) }
        #expect(
            try scene.rows(1, "SELECT _id FROM cars ORDER BY n LIMIT 2")
                == [#"{"_id":"b"}"#, #"{"_id":"c"}"#])
    }

    // MARK: Limited rights

    /// Sends documents in the order of their addresses, which is not that of the collections.
    @Test(arguments: [nil, 60])
    func `a batch for a limited peer has the readable documents and deletions, by address`(
        _ units: Int?
    ) throws {
        var limits = ReplicatorLimits()
        limits.evaluated = units ?? limits.evaluated
        let scene = try DocumentScene(2, limits)
        let early: [DQL] = [
            "INSERT INTO trucks DOCUMENTS ({'_id': 't'}), ({'_id': 's'})",
            """
            INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'}), ({'_id': 'b', 'owner': 'ann'}),
            ({'_id': 'c', 'owner': 'ann'}), ({'_id': 'h', 'owner': 'bob'})
            """,
        ]
        for statement in early { try scene.execute(0, statement) }
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM trucks"])
        let rights = PeerRights(read: ["cars": "owner = 'ann'", "trucks": "true"], write: [:])
        let sent = try scene.connectRecorded(0, 1, rightsOfRight: rights).sent
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
        let first = try #require(sent.numbers.first)
        #expect(sent.numbers == [first])
        _ = sent.drainTexts()
        let later: [DQL] = [
            "UPDATE trucks SET n = 1 WHERE _id = 't'", "DELETE FROM cars WHERE _id = 'c'",
            "INSERT INTO cars DOCUMENTS ({'_id': 'g', 'owner': 'ann'})",
            "INSERT INTO cars DOCUMENTS ({'_id': 'i', 'owner': 'bob'})",
            "UPDATE cars SET owner = 'bob' WHERE _id = 'b'", "UPDATE cars SET n = 1",
            "DELETE FROM trucks WHERE _id = 's'",
        ]
        for statement in later { try scene.nodes[0].store.execute(statement) }
        try scene.published(0)
        try scene.run()
        #expect(sent.drainLines(after: first) == ["1: a c g s t"])
        let hidden = try texts(scene, sent, 0, "UPDATE cars SET n = 2 WHERE owner = 'bob'")
        #expect(hidden == [])
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        try scene.execute(0, "UPDATE cars SET n = 3")
        try scene.run()
        #expect(sent.drainLines(after: first) == ["2: a g"])
        #expect(try scene.rows(1, "SELECT _id FROM cars WHERE n = 3").count == 2)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 3)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
    }
}
