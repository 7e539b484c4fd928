import Sheaf
import SheafDocument
import SheafQuery
import SheafReplication
import SheafStatements
import SheafSync
import SheafSystem
import Testing

/// The cost of evaluating rules for a peer with limited rights on documents that the peer sends.
struct RuleCostTests {
    private func documents(
        _ count: Int, prefix: String = "", owner: String = "ann", length: Int
    ) -> DQL {
        let text = String(repeating: "t", count: length)
        let level = owner == "ann" ? 1 : 0
        let documents = (0..<count).map {
            "({'_id': '\(prefix)\($0)', 'owner': '\(owner)', 'level': \(level), 'a': 0, 'b': 0, "
                + "'text': '\(text)'})"
        }
        return DQL(verbatim: "INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", "))
    }

    // MARK: The read rule

    @Test func `the read rule is evaluated in slices on read repairs and once on hidden documents`()
        throws
    {
        let scene = try DocumentScene(2)
        let rights = PeerRights(
            read: ["cars": "char_length(repeat(text, 50)) * level > 0"],
            write: ["cars": "level = 1"])
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.subscribe(1, ["SELECT * FROM cars WHERE b > 0 AND a = 2"])
        try scene.execute(1, documents(100, length: 1_000))
        try scene.execute(0, documents(10, prefix: "hidden ", owner: "bob", length: 1_000))
        try scene.execute(1, documents(10, prefix: "hidden ", length: 10))
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        scene.hold(wire, to: 0)
        scene.hold(wire, to: 1)
        try scene.execute(0, "UPDATE cars SET b = 1 WHERE owner = 'ann'")
        try scene.execute(1, "UPDATE cars SET a = 1 WHERE a = 0")
        try scene.letGo(wire, to: 0)
        try scene.letGo(wire, to: 1)
        #expect(scene.isConnected(wire))
        #expect(try scene.rows(1, "SELECT _id FROM cars WHERE b = 1").count == 100)
        // One evaluation takes about 100,000 units, and the last one of a turn is not interrupted.
        let slice = scene.nodes[0].replicator.slice
        #expect(slice.longestTurn < 3 * SyncLimits.evaluationUnitsPerTurn)
        #expect(slice.used >= 10_000_000)
        #expect(slice.used < 60_000_000)
    }

    // MARK: The write rule

    /// Rights whose write rule takes about 12,000,000 units for a text of 20,000 characters.
    private let costly = PeerRights(
        read: ["cars": "owner = 'ann'"], write: ["cars": "char_length(repeat(text, 300)) > 0"])

    @Test func `a peer whose documents make the write rule cost too much is disconnected`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(1, documents(40, length: 20_000))
        var wire = try scene.connect(0, 1, rightsOfRight: costly)
        try scene.run()
        #expect(!scene.isConnected(wire))
        #expect(scene.nodes[0].closeMessages.last?.code == .limit)
        let text = scene.nodes[0].closeMessages.last?.text ?? ""
        #expect(
            text.hasPrefix("the write rule of this peer cannot be evaluated: "), "\(text)")
        #expect(try scene.rows(0, "SELECT _id FROM cars").isEmpty)
        // A new connection has the same budget, refilled only by time.
        try scene.execute(1, "EVICT FROM cars WHERE _id <> '0'")
        wire = try scene.connect(0, 1, rightsOfRight: costly)
        try scene.run()
        #expect(!scene.isConnected(wire))
        try scene.advance(milliseconds: 20_000)
        wire = try scene.connect(0, 1, rightsOfRight: costly)
        try scene.run()
        #expect(scene.isConnected(wire))
        #expect(try scene.rows(0, "SELECT _id FROM cars").count == 1)
    }

    @Test func `cheap evaluations of the write rule do not use up the budget`() throws {
        let scene = try DocumentScene(2)
        let rights = PeerRights(
            read: ["cars": "true"], write: ["cars": "owner = 'ann' AND char_length(text) < 100"])
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(1, documents(500, length: 50))
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        #expect(scene.isConnected(wire))
        #expect(try scene.rows(0, "SELECT _id FROM cars").count == 500)
        #expect(
            scene.nodes[0].replicator.evaluationUnits(of: scene.nodes[1].key) ?? .max >= 199_990_000
        )
    }

    @Test(arguments: [
        nil,
        PeerRights(read: ["cars": "true"], write: ["cars": "char_length(text) > 0"]),
        PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": "char_length(text) > 0"]),
    ])
    func `a batch stays unwritten and unacknowledged when its receiver stops`(rights: PeerRights?)
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(0, documents(3, owner: "bob", length: 1))
        try scene.execute(1, documents(6, length: 2))
        let before = try scene.rows(0, "SELECT * FROM cars")
        let stopped = scene.nodes[0]
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        stopped.isBusy = true
        try scene.run()
        stopped.evaluationStop.set()
        stopped.isBusy = false
        try scene.run()
        #expect(!scene.isConnected(wire))
        #expect(stopped.closeMessages == [CloseMessage(.done, "the peer stops")])
        #expect(try scene.rows(0, "SELECT * FROM cars") == before)
        #expect(scene.nodes[1].synced(with: stopped) == 0)
    }

    @Test func `evaluating the write rule on hidden documents costs a peer nothing`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.execute(0, documents(30, owner: "bob", length: 20_000))
        try scene.execute(1, documents(30, owner: "bob", length: 1))
        let wire = try scene.connect(0, 1, rightsOfRight: costly)
        try scene.run()
        #expect(scene.isConnected(wire))
    }
}
