import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Commits that a peer receives one by one, in one batch, or as an announcement.
struct SentCommitTests {
    private let boat: DQL = "INSERT INTO boats DOCUMENTS ({'n': 1})"

    /// Returns two peers with a car that subscribe to all cars, and the batches to the second one.
    private func begin() throws -> (scene: DocumentScene, sent: SentTranscript) {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        let sent = try scene.connectRecorded(0, 1).sent
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 1)
        _ = sent.drainTexts()
        return (scene, sent)
    }

    /// Returns the new batches to the second peer, relative to the newest commit.
    private func lines(_ scene: DocumentScene, _ sent: SentTranscript) throws -> [String] {
        try scene.run()
        return sent.drainLines(after: scene.nodes[0].newestCommit)
    }

    private func insert(_ id: String) -> DQL {
        DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})")
    }

    // MARK: Positions

    @Test func `a position is sent immediately unless the peer's own commit advanced it`() throws {
        let (scene, sent) = try begin()
        try scene.execute(0, insert("a"))
        #expect(try lines(scene, sent) == ["0: a (stamped)"])
        try scene.execute(0, boat)
        #expect(try lines(scene, sent) == ["0:"])
        try scene.execute(0, "CREATE INDEX i ON cars (n)")
        #expect(try lines(scene, sent) == ["0:"])
        try scene.execute(1, insert("b"))
        #expect(try lines(scene, sent) == [])
        try scene.advance(milliseconds: 99)
        #expect(try lines(scene, sent) == [])
        try scene.advance(milliseconds: 1)
        #expect(try lines(scene, sent) == ["0:"])
        try scene.advance(milliseconds: 500)
        #expect(try lines(scene, sent) == [])
    }

    @Test func `a batch before the position of the peer's own commit replaces it`() throws {
        let (scene, sent) = try begin()
        for (statement, line) in [(boat, "0:"), (insert("a"), "0: a (stamped)")] {
            try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'n': 1})")
            #expect(try lines(scene, sent) == [])
            try scene.execute(0, statement)
            #expect(try lines(scene, sent) == [line])
            try scene.advance(milliseconds: 500)
            #expect(try lines(scene, sent) == [])
        }
    }

    /// Makes two commits durable together: one of the first peer, then one of the second.
    @Test func `a position after commits of both peers is sent immediately, or after a document`()
        throws
    {
        let (scene, sent) = try begin()
        let cases: [(DQL, early: [String], late: [String])] = [
            (boat, ["0:"], []), (insert("a"), ["-1: a (stamped)"], ["0:"]),
        ]
        for (statement, early, late) in cases {
            try scene.nodes[0].store.execute(statement)
            try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'n': 1})")
            #expect(try lines(scene, sent) == early)
            try scene.advance(milliseconds: 100)
            #expect(try lines(scene, sent) == late)
            try scene.advance(milliseconds: 500)
            #expect(try lines(scene, sent) == [])
        }
    }

    /// Makes two commits durable together: one of the second peer, then one of the first.
    @Test func `a position after a later local commit does not wait`() throws {
        let (scene, sent) = try begin()
        for statement in [boat, "CREATE INDEX i ON cars (n)"] as [DQL] {
            scene.nodes[0].flushesLate = true
            try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'n': 1})")
            #expect(try lines(scene, sent) == [])
            scene.nodes[0].flushesLate = false
            try scene.execute(0, statement)
            #expect(try lines(scene, sent) == ["0:"])
            try scene.advance(milliseconds: 500)
            #expect(try lines(scene, sent) == [])
        }
    }

    // MARK: Catching up

    /// Connects a peer that never requests documents, for which commits are retained.
    private func retainCommits(_ scene: DocumentScene) throws {
        let replicator = scene.nodes[0].replicator
        replicator.connect(900, at: scene.now)
        let arguments = try Insertion.initial(Object(), NameTable())
        let query = SubscribedQuery(text: "SELECT * FROM cars", arguments: arguments)
        let request = Subscribe(generation: 1, [query], at: 0)
        var writer = FrameWriter()
        for frame in [
            Frame(.hello, Hello.unknownPeer(7).bytes), Frame(.subscribe, request.parts[0].bytes),
        ] {
            writer.bytes(of: frame).withUnsafeBytes {
                replicator.receive($0, on: 900, at: scene.now)
            }
            try scene.perform(0)
        }
    }

    /// Sends deltas only of documents whose state at the cursor matched.
    @Test(arguments: [true, false])
    func `missed commits are one batch, in their order or in that of the keys`(
        _ areRetained: Bool
    ) throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars WHERE n < 5"])
        // Only a long document is sent as a delta.
        let long = Value.string(String(repeating: "a long story ", count: 400))
        func insert(_ id: String, _ n: Int64) throws {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "n": .integer(n), "story": long] as Value])
        }
        for (id, n) in [("a", 1), ("b", 1), ("c", 1), ("k", 9)] as [(String, Int64)] {
            try insert(id, n)
        }
        let wire = try scene.connect(0, 1)
        for _ in 0..<2 { try scene.advance(milliseconds: 1_000) }
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        if areRetained { try retainCommits(scene) }
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        try insert("x", 1)
        try scene.execute(0, "UPDATE cars SET n = 3 WHERE _id = 'k'")
        try scene.execute(0, "UPDATE cars SET n = 8 WHERE _id = 'a'")
        try scene.execute(0, boat)
        try scene.execute(0, "UPDATE cars SET m = 1 WHERE _id = 'b'")
        try insert("y", 9)
        let sent = try scene.connectRecorded(0, 1).sent
        let order = areRetained ? "b x k a" : "a b k x"
        #expect(try lines(scene, sent) == ["0: \(order) (of 0)"])
        #expect(sent.deltas == (areRetained ? ["b", "a"] : ["a", "b"]))
        #expect(
            try scene.rows(1, "SELECT n FROM cars WHERE _id < 'd' ORDER BY _id")
                == [8, 2, 1].map { "{\"n\":\($0)}" })
        #expect(try scene.rows(1, "SELECT _id FROM cars WHERE m = 1") == [#"{"_id":"b"}"#])
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 5)
    }

    // MARK: Announcements

    @Test func `an announcement has the documents of all new commits, in order and once`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.connect(0, 2)
        try scene.connect(2, 1)
        let (direct, sent) = try scene.connectRecorded(0, 1)
        try scene.run()
        // Peer 1 gets the first document from peer 2 first.
        scene.hold(direct, to: 1)
        try scene.execute(0, insert("first"))
        try scene.run()
        try scene.letGo(direct, to: 1)
        #expect(scene.nodes[1].sent.contains(.announceOnly))
        _ = sent.drainTexts()
        let statements: [DQL] = [
            "INSERT INTO cars DOCUMENTS ({'_id': 'd'}), ({'_id': 'c'})", boat,
            "UPDATE cars SET n = 1 WHERE _id = 'd'", insert("b"), boat,
        ]
        for statement in statements { try scene.nodes[0].store.execute(statement) }
        try scene.published(0)
        #expect(try lines(scene, sent) == ["announced 0: b c d"])
        // The last commit has no document for the peer.
        let status = scene.nodes[0].replicator.allStatuses[scene.nodes[1].key]
        #expect(status?.deliveredUpTo == scene.nodes[0].newestCommit - 1)
        try scene.execute(0, boat)
        #expect(try lines(scene, sent) == ["announced 0:"])
        #expect(try scene.checksums() == 1)
    }
}
