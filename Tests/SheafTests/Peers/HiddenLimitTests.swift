import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Limits and errors that only unreadable documents cause, which must not show in any frame.
struct HiddenLimitTests {
    private let rights = PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": "true"])

    /// Returns a server (0) that subscribes to cars, with recorded frames, and a device (1).
    private func scene(transactionLength: Int = 1 << 30) throws -> DocumentScene {
        let scene = try DocumentScene(2, transactionLengthOfFirst: transactionLength)
        scene.nodes[0].keepsFrames = true
        for number in 0...1 {
            try scene.execute(
                number, "ALTER SYSTEM SET document_size_hard_limit_bytes = 15000000")
        }
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        return scene
    }

    /// Returns the frames of the server without the first, which has its randomly drawn site.
    private func frames(_ scene: DocumentScene) -> ArraySlice<[UInt8]> {
        scene.nodes[0].frames.dropFirst()
    }

    private func insert(
        _ number: Int, _ id: String, owner: String, _ name: String, _ length: Int,
        in scene: DocumentScene
    ) throws {
        let text = String(repeating: "t", count: length)
        try scene.execute(
            number, "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": .string(id), "owner": .string(owner), name: .string(text)] as Value])
    }

    private func lengths(_ scene: DocumentScene) throws -> [String] {
        try scene.rows(
            0,
            """
            SELECT _id, owner, char_length(text) AS text, char_length(note) AS note FROM cars
            WHERE _id <> 'a' ORDER BY _id
            """)
    }

    @Test func `dropping a write that makes a hidden document too long shows in no frame`() throws {
        let simulations = try [nil, 8 << 20].map { (length: Int?) in
            let scene = try scene()
            if let length { try insert(0, "b", owner: "bob", "text", length, in: scene) }
            let wire = try scene.connect(0, 1, rightsOfRight: rights)
            try scene.run()
            try insert(1, "b", owner: "carl", "note", 8 << 20, in: scene)
            try scene.advance(milliseconds: 1_000)
            try insert(1, "c", owner: "carl", "note", 10, in: scene)
            try scene.advance(milliseconds: 1_000)
            #expect(scene.isConnected(wire))
            return scene
        }
        #expect(frames(simulations[1]) == frames(simulations[0]))
        let last = #"{"_id":"c","note":10,"owner":"carl"}"#
        #expect(
            try lengths(simulations[0]) == [#"{"_id":"b","note":8388608,"owner":"carl"}"#, last])
        #expect(
            try lengths(simulations[1]) == [#"{"_id":"b","owner":"bob","text":8388608}"#, last])
    }

    /// Exceeds the maximum only by the base, which is added when the merged document is written.
    @Test func `a write is dropped when its base makes a hidden document too long`() throws {
        let scene = try scene()
        let (short, long) = (2_200_000, 7_000_000)
        try insert(0, "short", owner: "bob", "text", short, in: scene)
        try insert(0, "long", owner: "bob", "text", long, in: scene)
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        try insert(1, "short", owner: "carl", "note", short + 1_000, in: scene)
        try scene.run()
        let snapshot = scene.nodes[0].store.queries.documents.snapshot()
        let key = try #require(try snapshot.key(collection: "cars", id: "short"))
        let length = try #require(try snapshot.document(key)).bytes.count
        // The length without texts. The last text makes the document one byte too long.
        let overhead = length - 2 * short - 1_000
        let rest = EncodedDocument.maximumLength - long - overhead + 1
        try insert(1, "long", owner: "carl", "note", rest, in: scene)
        try scene.run()
        #expect(scene.isConnected(wire))
        #expect(
            try scene.rows(0, "SELECT _id FROM cars WHERE note IS NOT MISSING")
                == [#"{"_id":"short"}"#])
    }

    @Test func `hidden documents do not count toward the length of a batch`() throws {
        let simulations = try [false, true].map { hasHidden in
            let scene = try scene(transactionLength: 1_000_000)
            for number in 0..<20 where hasHidden {
                try insert(0, "b\(number)", owner: "bob", "text", 100_000, in: scene)
            }
            let wire = try scene.connect(0, 1, rightsOfRight: rights)
            try scene.run()
            let cars = (0..<20).map { "({'_id': 'b\($0)', 'owner': 'carl', 'note': 'n'})" }
            // The car that the peer may read counts toward the length of the batch.
            let query = "INSERT INTO cars DOCUMENTS (:car), " + cars.joined(separator: ", ")
            let text = String(repeating: "t", count: 200_000)
            try scene.execute(
                1, DQL(verbatim: query),
                ["car": ["_id": "c", "owner": "ann", "text": .string(text)] as Value])
            try scene.advance(milliseconds: 1_000)
            #expect(scene.isConnected(wire))
            return scene
        }
        #expect(frames(simulations[1]) == frames(simulations[0]))
        let count: DQL = "SELECT count(*) AS n FROM cars WHERE note = 'n'"
        #expect(try simulations[0].rows(0, count) == [#"{"n":20}"#])
        // Writes beyond the maximum length of a transaction are dropped.
        #expect(try simulations[1].rows(0, count) == [#"{"n":9}"#])
    }

    @Test func `a close reason for a limited peer has no lengths`() throws {
        let scene = try scene(transactionLength: 100_000)
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        for id in ["b", "c"] { try insert(1, id, owner: "carl", "note", 60_000, in: scene) }
        try scene.run()
        #expect(scene.isConnected(wire))
        try scene.execute(1, "UPDATE cars SET note = note || 'x'")
        try scene.run()
        #expect(!scene.isConnected(wire))
        let closeMessage = try #require(scene.nodes[0].closeMessages.last)
        let short = CloseMessage(.limit, "a batch, or a document in it, is too long")
        #expect(closeMessage == short)
        let warnings = scene.nodes[0].store.messages(.warning).filter {
            $0.hasPrefix(
                "cannot write a batch of a peer with limited rights: maximumTransactionLength is "
                    + "100000, and this would be ")
        }
        #expect(warnings.count == 1)
    }

    private func stays(
        _ rights: PeerRights, hidden: DQL?, subscribing text: String = "SELECT * FROM cars"
    ) throws -> DocumentScene {
        let scene = try scene()
        try scene.subscribe(0, [text])
        if let hidden { try scene.execute(0, hidden) }
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'carl', 'flags': 'i'})")
        try scene.advance(milliseconds: 1_000)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'ann', 'flags': 'i'})")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.isConnected(wire))
        #expect(scene.nodes[0].closeMessages.map(\.text) == [])
        return scene
    }

    private let hidden: DQL =
        "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob', 'flags': 'z'})"
    private let owners: DQL = "SELECT _id, owner FROM cars WHERE _id IN ('b', 'c') ORDER BY _id"

    /// Gives the hidden document flags that are invalid in regular expressions.
    @Test func `a write rule that fails on a hidden document forbids writing it`() throws {
        let rule = "regexp_like(owner, '.*', flags)"
        let rights = PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": rule])
        let simulations = try [nil, hidden].map { try stays(rights, hidden: $0) }
        #expect(frames(simulations[1]) == frames(simulations[0]))
        #expect(
            try simulations[1].rows(0, owners) == [
                #"{"_id":"b","owner":"bob"}"#, #"{"_id":"c","owner":"ann"}"#,
            ])
    }

    @Test func `a document on which the read rule fails is hidden`() throws {
        let rights = PeerRights(
            read: ["cars": "regexp_like(owner, 'ann', coalesce(flags, 'i'))"],
            write: ["cars": "true"])
        let simulations = try [nil, hidden].map { try stays(rights, hidden: $0) }
        #expect(frames(simulations[1]) == frames(simulations[0]))
    }

    @Test func `a subscription of the server is not evaluated on hidden documents`() throws {
        let simulations = try [nil, hidden].map {
            try stays(
                rights, hidden: $0,
                subscribing:
                    "SELECT * FROM cars WHERE regexp_like(owner, '.*', coalesce(flags, 'i'))")
        }
        #expect(frames(simulations[1]) == frames(simulations[0]))
    }

    /// Checks that the connection stays open when the peer sends the document or checks its rights.
    @Test(arguments: [false, true])
    func `a document on which the write rule fails is refused`(_ sendsRights: Bool) throws {
        let scene = try scene()
        let rights = PeerRights(
            read: ["cars": "true"], write: ["cars": "regexp_like(owner, '.*', flags)"])
        let wire = try scene.connect(0, 1, rightsOfRight: rights, sendsRights: sendsRights)
        try scene.run()
        try scene.execute(
            1,
            """
            INSERT INTO cars DOCUMENTS
                ({'_id': 'b', 'owner': 'bob', 'flags': 'z'}), ({'_id': 'c', 'owner': 'ann', 'flags': 'i'})
            """)
        try scene.advance(milliseconds: 1_000)
        #expect(scene.isConnected(wire))
        #expect(try scene.rows(0, owners) == [#"{"_id":"c","owner":"ann"}"#])
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).map(\.documentID.json) == [#""b""#])
    }
}
