import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// The documents that peers with limited rights may read and write.
struct RightsTests {
    /// Returns two peers that subscribe to all cars; the right one has limited rights.
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

    @Test func `the status of peers is kept up to a maximum number`() throws {
        let scene = try FileScene(1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let replicator = scene.nodes[0].replicator
        for number in 1...5_000 as ClosedRange<UInt16> {
            var session = SyncSession.unknownPeer(number, at: 1)
            replicator.connect(UInt64(number), at: 1)
            while case .send(let bytes)? = session.nextEffect() {
                bytes.withUnsafeBytes { replicator.receive($0, on: UInt64(number), at: 1) }
            }
            // The first peer stays connected.
            if number > 1 { replicator.disconnect(UInt64(number)) }
            _ = replicator.drainEffects()
        }
        #expect((900...1_000).contains(replicator.rememberedPeerCount))
        #expect(replicator.allStatuses.values.count { $0.isConnected } == 1)
    }

    @Test(arguments: [
        ["_id = 'a'"], ["'a' = _id"], ["_id = 'a' AND true"], ["_id IN ('a')"], ["owner = 'a'"],
    ])
    func `a read rule allows reading the matching documents only`(_ rule: [String]) throws {
        let scene = try scene(PeerRights(read: ["cars": rule[0]], write: [:]))
        for id in ["a", "b"] {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(id)] as Value])
        }
        try scene.run()
        let received = try ids(scene, 1)
        #expect(received == [#"{"_id":"a"}"#])
    }

    @Test(arguments: ["_id = 'a'", "owner = 'a'"])
    func `a write rule allows writing the matching documents only`(_ rule: String) throws {
        let scene = try scene(PeerRights(read: ["cars": "true"], write: ["cars": rule]))
        for id in ["a", "b"] {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(id)] as Value])
            try scene.run()
            let accepted = try ids(scene, 0)
            #expect(accepted == [#"{"_id":"a"}"#])
            #expect(scene.isConnected)
        }
    }

    // MARK: Rules over fields that change

    /// Returns two disconnected peers with one car; the right peer may write only its own cars.
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

    private let cars: DQL = "SELECT _id, n, owner FROM cars ORDER BY _id"

    /// Gives the document another owner, which the writer does not know and may not read.
    @Test
    func `a peer with an outdated write to a document that is no longer writable stays connected`()
        throws
    {
        let scene = try sceneOfAnn()
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'n': 1})")
        let again = try connect(scene)
        #expect(scene.isConnected(again))
        #expect(scene.nodes[0].closeMessages.isEmpty)
        var rows = try scene.rows(0, cars)
        #expect(
            rows == [
                #"{"_id":"a","n":1,"owner":"bob"}"#, #"{"_id":"b","n":1,"owner":"ann"}"#,
            ])
        // Later writes to this document are dropped as well, and are not requested.
        let requests = scene.nodes[0].sent.count { $0 == .subscribe }
        try scene.execute(1, "UPDATE cars SET n = 3")
        try scene.run()
        #expect(scene.nodes[0].sent.count { $0 == .subscribe } == requests)
        rows = try scene.rows(0, cars)
        #expect(
            rows == [
                #"{"_id":"a","n":1,"owner":"bob"}"#, #"{"_id":"b","n":3,"owner":"ann"}"#,
            ])
        #expect(scene.isConnected(again))
        let synced = scene.nodes[1].synced(with: scene.nodes[0])
        #expect(synced == scene.nodes[1].newestCommit)
    }

    @Test func `a refused writer that may read the document receives its newer state`() throws {
        let scene = try sceneOfAnn(read: "true")
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        let again = try connect(scene, "true")
        #expect(scene.isConnected(again))
        let local = try scene.rows(0, cars)
        #expect(local == [#"{"_id":"a","n":1,"owner":"bob"}"#])
        let remote = try scene.rows(1, cars)
        #expect(remote == [#"{"_id":"a","n":2,"owner":"bob"}"#])
    }

    /// Writes the owner on both peers, with the refused write last.
    ///
    /// The refused peer continues to send the writes that its own state permits.
    @Test
    func `an unpermitted change of ownership is refused, and the peer stays connected`()
        throws
    {
        let scene = try sceneOfAnn(read: "true")
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        // Several updates, so that the last stamp is greater even within one millisecond.
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
        let local = try scene.rows(0, cars)
        #expect(local == [#"{"_id":"a","n":1,"owner":"bob"}"#])
        let remote = try scene.rows(1, cars)
        #expect(remote == [#"{"_id":"a","n":5,"owner":"ann"}"#])
    }

    /// Merges two writes that are each permitted, and whose result is not.
    @Test func `a merge of two permitted writes is refused if its result may not be written`()
        throws
    {
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
        let local = try scene.rows(0, "SELECT level, n FROM cars")
        #expect(local == [#"{"level":4,"n":1}"#])
        let remote = try scene.rows(1, "SELECT level, n FROM cars")
        #expect(remote == [#"{"level":4,"n":5}"#])
    }

    @Test func `a refusal does not reveal that a hidden document exists`() throws {
        let all: DQL = "SELECT * FROM cars ORDER BY _id"
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'secret', 'owner': 'me'})")
        let rights = PeerRights(read: [:], write: ["cars": "owner = 'you'"])
        // The device does not know that another owner has a document with this id.
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'secret', 'owner': 'you'})")
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        #expect(scene.isConnected(wire))
        let (local, remote) = (try scene.rows(0, all), try scene.rows(1, all))
        #expect(local == [#"{"_id":"secret","owner":"me"}"#])
        #expect(remote == [#"{"_id":"secret","owner":"you"}"#])
        try scene.disconnect(wire)
        // The device does not receive its rights.
        let again = try scene.connect(0, 1, rightsOfRight: rights, sendsRights: false)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'secret 2', 'owner': 'me'})")
        try scene.run()
        #expect(scene.isConnected(again))
        #expect(try scene.rows(0, all) == local)
        // No document with this id existed, so the refusal reveals nothing.
        let refused = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(refused.map(\.documentID.json) == [#""secret 2""#])
    }

    // MARK: Rights that change

    @Test(arguments: [true, false])
    func `a peer with extended read rights receives the newly readable documents`(_ isAll: Bool)
        throws
    {
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
    func `a peer with extended write rights has its earlier writes accepted`(_ sendsRights: Bool)
        throws
    {
        let scene = try DocumentScene(2)
        for number in 0...1 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        let ann = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann', 'n': 1})")
        var wire = try scene.connect(0, 1, rightsOfRight: ann, sendsRights: sendsRights)
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET owner = 'bob'")
        try scene.execute(1, "UPDATE cars SET n = 2")
        wire = try scene.connect(0, 1, rightsOfRight: ann, sendsRights: sendsRights)
        try scene.run()
        try scene.disconnect(wire)
        #expect(try scene.rows(0, "SELECT n FROM cars") == [#"{"n":1}"#])
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]),
            sendsRights: sendsRights)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(0, "SELECT n FROM cars") == [#"{"n":2}"#])
        #expect(try scene.rows(1, cars) == scene.rows(0, cars))
    }
}
