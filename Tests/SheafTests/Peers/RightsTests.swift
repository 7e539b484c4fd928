import Sheaf
import SheafSync
import SheafTestSupport
import Testing

/// What peers may see and write whose rights are limited.
struct RightsTests {
    /// Peers of which the right one has rights on the left one, and wants all cars; the left one too.
    private func scene(_ rights: PeerRights) throws -> FileScene {
        let scene = try FileScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        return scene
    }

    private func ids(_ scene: FileScene, _ number: Int) throws -> [String] {
        try scene.nodes[number].rows("SELECT _id FROM cars ORDER BY _id")
    }

    @Test func `no more peers are remembered than there is room for`() throws {
        let scene = try FileScene(1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let host = scene.nodes[0].host
        for number in 1...5_000 as ClosedRange<UInt16> {
            var session = SyncSession.stranger(number, at: 1)
            host.connect(UInt64(number), at: 1)
            while case .send(let bytes)? = session.takeEffect() {
                bytes.withUnsafeBytes { host.receive($0, on: UInt64(number), at: 1) }
            }
            // One of them stays.
            if number > 1 { host.disconnect(UInt64(number)) }
            _ = host.takeEffects()
        }
        #expect((900...1_000).contains(host.knownPeerCount))
        #expect(host.allStatuses.values.count { $0.isConnected } == 1)
    }

    @Test(arguments: [
        ["_id = 'a'"], ["'a' = _id"], ["_id = 'a' AND true"], ["_id IN ('a')"], ["owner = 'a'"],
    ])
    func `a rule lets somebody see what it names, and nothing else`(_ rule: [String]) throws {
        let scene = try scene(PeerRights(read: ["cars": rule[0]], write: [:]))
        for id in ["a", "b"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(id)] as Value])
        }
        try scene.run()
        let seen = try ids(scene, 1)
        #expect(seen == [#"{"_id":"a"}"#])
    }

    @Test(arguments: ["_id = 'a'", "owner = 'a'"])
    func `a rule lets somebody write what it names, and nothing else`(_ rule: String) throws {
        let scene = try scene(PeerRights(read: ["cars": "true"], write: ["cars": rule]))
        for id in ["a", "b"] {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(id)] as Value])
            try scene.run()
            let seen = try ids(scene, 0)
            #expect(seen == [#"{"_id":"a"}"#])
            #expect(scene.isConnected)
        }
    }

    // MARK: Rules over fields that change

    /// Peers of which the right one may write what is its own, and has one car; both know that, and part.
    private func sceneOfAnn(read: String = "owner = 'ann'") throws -> DocumentScene {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann', 'n': 1})")
        let wire = try connect(scene, read)
        try scene.disconnect(wire)
        return scene
    }

    private func connect(
        _ scene: DocumentScene, _ read: String = "owner = 'ann'"
    ) throws -> UInt64 {
        let wire = try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": read], write: ["cars": "owner = 'ann'"]))
        try scene.run()
        return wire
    }

    private let cars: Query = "SELECT _id, n, owner FROM cars ORDER BY _id"

    /// It has another owner by now, whom the one that writes does not know of, and may not see.
    @Test func `who could not know that it may not write a document goes on to be talked to`()
        throws
    {
        let scene = try sceneOfAnn()
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'n': 1})")
        let again = try connect(scene)
        #expect(scene.isConnected(again))
        #expect(scene.nodes[0].farewells.isEmpty)
        var rows = try scene.rows(0, cars)
        #expect(
            rows == [
                #"{"_id":"a","n":1,"owner":"bob"}"#, #"{"_id":"b","n":1,"owner":"ann"}"#,
            ])
        // What it writes then, also to the same document, changes nothing of that, and is not asked for.
        let asked = scene.nodes[0].sent.count { $0 == .subscribe }
        try scene.execute(1, "UPDATE cars SET n = 3")
        try scene.run()
        #expect(scene.nodes[0].sent.count { $0 == .subscribe } == asked)
        rows = try scene.rows(0, cars)
        #expect(
            rows == [
                #"{"_id":"a","n":1,"owner":"bob"}"#, #"{"_id":"b","n":3,"owner":"ann"}"#,
            ])
        #expect(scene.isConnected(again))
        let synced = scene.nodes[1].synced(with: scene.nodes[0])
        #expect(synced == scene.nodes[1].newestCommit)
    }

    @Test func `who may see a document that was refused is told how it is`() throws {
        let scene = try sceneOfAnn(read: "true")
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        let again = try connect(scene, "true")
        #expect(scene.isConnected(again))
        let here = try scene.rows(0, cars)
        #expect(here == [#"{"_id":"a","n":1,"owner":"bob"}"#])
        let there = try scene.rows(1, cars)
        #expect(there == [#"{"_id":"a","n":2,"owner":"bob"}"#])
    }

    /// Both have written the owner, and the one that may not write it any more was the last: it goes on to
    /// send what it may by its own state.
    @Test func `who takes a document back that it may not write is refused, and talked to`() throws
    {
        let scene = try sceneOfAnn(read: "true")
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        // Later than what the other one has written, also in the same millisecond.
        for _ in 0..<3 {
            try scene.execute(1, "UPDATE cars SET owner = 'ann', n = 2 WHERE _id = 'a'")
        }
        for n in Int64(3)..<6 {
            let again = try connect(scene, "true")
            #expect(scene.isConnected(again))
            try scene.execute(1, "UPDATE cars SET n = :n WHERE _id = 'a'", ["n": Value.integer(n)])
            try scene.run()
            #expect(scene.isConnected(again))
            try scene.disconnect(again)
        }
        let here = try scene.rows(0, cars)
        #expect(here == [#"{"_id":"a","n":1,"owner":"bob"}"#])
        let there = try scene.rows(1, cars)
        #expect(there == [#"{"_id":"a","n":5,"owner":"ann"}"#])
    }

    /// Each of two writes is permitted, and what they make together is not.
    @Test func `what two writes make together is refused where it may not be written`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1, 'n': 1})")
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "level + n < 8"])
        let early = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        try scene.disconnect(early)
        try scene.execute(0, "UPDATE cars SET level = 4 WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 5 WHERE _id = 'a'")
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        #expect(scene.isConnected(wire))
        let here = try scene.rows(0, "SELECT level, n FROM cars")
        #expect(here == [#"{"level":4,"n":1}"#])
        let there = try scene.rows(1, "SELECT level, n FROM cars")
        #expect(there == [#"{"level":4,"n":5}"#])
    }

    @Test func `who is refused is not told which document it was`() throws {
        let all: Query = "SELECT * FROM cars ORDER BY _id"
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'secret', 'owner': 'me'})")
        let rights = PeerRights(read: [:], write: ["cars": "owner = 'you'"])
        // It does not know that there is one of somebody else, and is not told so.
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'secret', 'owner': 'you'})")
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        #expect(scene.isConnected(wire))
        let (here, there) = (try scene.rows(0, all), try scene.rows(1, all))
        #expect(here == [#"{"_id":"secret","owner":"me"}"#])
        #expect(there == [#"{"_id":"secret","owner":"you"}"#])
        try scene.disconnect(wire)
        // It does not know what it may write.
        let again = try scene.connect(0, 1, rightsOfRight: rights, isTold: false)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'secret 2', 'owner': 'me'})")
        try scene.run()
        #expect(scene.isConnected(again))
        #expect(try scene.rows(0, all) == here)
        // There was no document of this id, so the refusal shows nothing.
        let refused = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(refused.map(\.documentID.json) == [#""secret 2""#])
    }

    // MARK: Rights that change

    @Test(arguments: [true, false])
    func `who may see more than before is told of it`(_ isAll: Bool) throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1}), ({'_id': 'b', 'level': 9})")
        let wire = try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "level < 5"], write: [:]))
        try scene.run()
        #expect(try scene.rows(1, cars).count == 1)
        try scene.disconnect(wire)
        try scene.connect(
            0, 1, rightsOfRight: isAll ? nil : PeerRights(read: ["cars": "true"], write: [:]))
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(1, cars).count == 2)
    }

    @Test(arguments: [true, false])
    func `who may write more than before is listened to again`(_ isTold: Bool) throws {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        let ann = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann', 'n': 1})")
        var wire = try scene.connect(0, 1, rightsOfRight: ann, isTold: isTold)
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET owner = 'bob'")
        try scene.execute(1, "UPDATE cars SET n = 2")
        wire = try scene.connect(0, 1, rightsOfRight: ann, isTold: isTold)
        try scene.run()
        try scene.disconnect(wire)
        #expect(try scene.rows(0, "SELECT n FROM cars") == [#"{"n":1}"#])
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]),
            isTold: isTold)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(0, "SELECT n FROM cars") == [#"{"n":2}"#])
        #expect(try scene.rows(1, cars) == scene.rows(0, cars))
    }
}
