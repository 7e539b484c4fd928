import Sheaf
import SheafBytes
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Reconciliations in which more documents differ than one message may list.
struct WantedPartTests {
    private static func scene(_ wanted: Int) throws -> DocumentScene {
        var limits = ReplicatorLimits()
        limits.wanted = wanted
        return try DocumentScene(2, limits)
    }

    private static func insert(
        _ ids: Range<Int>, into number: Int, of scene: DocumentScene
    ) throws {
        let documents = ids.map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.execute(number, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(documents)"))
    }

    /// Refuses the deletion of car 0, whose versions then differ permanently; 30 cars are new.
    @Test func `two peers with limited rights stop reconciling persistent differences`() throws {
        let scene = try Self.scene(7)
        try scene.subscribe(0, ["SELECT * FROM cars WHERE _id = 0"])
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try Self.insert(0..<1, into: 0, of: scene)
        let wire = try scene.connect(0, 1)
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(0, "DELETE FROM cars WHERE _id = 0")
        try Self.insert(1..<31, into: 1, of: scene)
        try scene.connect(
            0, 1,
            rightsOfLeft: PeerRights(read: ["cars": "true"], write: ["cars": "_id > 0"]),
            rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]))
        for _ in 0..<20 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 31)
        #expect(scene.nodes[1].sent.count { $0 == .want } >= 5)
        let sent = scene.nodes.map { $0.sent.count }
        for _ in 0..<20 { try scene.advance(milliseconds: 1_000) }
        let frames = zip(scene.nodes, sent).flatMap { $0.sent[$1...] }
        let idle: [FrameType] = [.ping, .pong, .historyDropped]
        #expect(frames.allSatisfy { idle.contains($0) }, "\(frames)")
    }

    /// Changes documents that both peers have: new ones would be wanted as ranges, not in parts.
    ///
    /// The deletion of a document is refused, too. With 200 documents, range requests follow a
    /// part.
    @Test(arguments: [20, 200], [false, true])
    func `a refusal of a document in any part is reported`(_ count: Int, _ sendsRights: Bool)
        throws
    {
        let scene = try Self.scene(7)
        let (server, device) = (scene.nodes[0], scene.nodes[1])
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try Self.insert(0..<count, into: 0, of: scene)
        try Self.insert(1_000..<1_001, into: 0, of: scene)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let wire = try scene.connect(0, 1)
        try scene.run()
        try scene.disconnect(wire)
        try scene.execute(1, "DELETE FROM cars WHERE _id = 1000")
        try scene.execute(1, "UPDATE cars SET new = 1")
        let rights = PeerRights(
            read: ["cars": "true"], write: ["cars": "_id < 5 OR _id = \(count - 1)"])
        let second = try scene.connect(0, 1, rightsOfRight: rights, sendsRights: sendsRights)
        // The server has written each part before the device receives anything further.
        scene.hold(second, to: 1)
        for _ in 0..<10 {
            while try scene.deliverHeld(second, to: 1) {}
            try scene.advance(milliseconds: 1_000)
        }
        #expect(try scene.rows(0, "SELECT * FROM cars").count == count + 1)
        #expect(try scene.rows(0, "SELECT * FROM cars WHERE new = 1").count == 6)
        let refused = Set(device.refused(by: server).map { $0.documentID.json })
        #expect(refused == Set((5..<count - 1).map { "\($0)" } + ["1000"]))
    }

    /// Fills the last part, or misses or exceeds it by one or two, with documents on both sides.
    @Test(arguments: 12...16)
    func `the last part may be full, or have one document`(_ count: Int) throws {
        let scene = try Self.scene(7)
        try Self.insert(0..<count, into: 0, of: scene)
        try Self.insert(100..<107, into: 1, of: scene)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        for _ in 0..<10 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(0, "SELECT * FROM cars").count == count + 7)
        #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty })
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
    }

    /// Splits a long part, which is sent as credit arrives.
    @Test func `a part may have more bytes than one batch`() throws {
        var limits = ReplicatorLimits()
        (limits.wanted, limits.part, limits.step, limits.inMemory) = (20, 300, 900, 500)
        let scene = try DocumentScene(2, limits)
        try Self.insert(0..<100, into: 0, of: scene)
        try Self.insert(90..<130, into: 1, of: scene)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "_id <> 5"], write: [:]))
        for _ in 0..<10 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 129)
        #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty })
    }
}
