import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Local writes that the rights of this peer do not let it send.
struct UnsendableWriteTests {
    /// Rights to write only cars of ann.
    private let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    /// Publishes a write that may not be sent together with one that may.
    @Test func `a write that may be sent accepts an earlier one that may not`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann', 'n': 1})")
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        for owner in ["bob", "ann"] {
            try scene.nodes[1].store.execute(
                "UPDATE cars SET owner = :owner WHERE _id = 'a'", ["owner": Value.string(owner)])
        }
        try scene.published(1)
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(scene.nodes[1].newlyRefused.map(\.documentID.json) == ["\"a\""])
        #expect(try scene.checksums() == 1)
    }

    /// The job that follows another one ends the reconciled batch, and contains one too long.
    @Test func `a refusal is recorded although a later batch of the same job fails`() throws {
        // The documents of the reconciled batch are divided among two jobs.
        var limits = ReplicatorLimits()
        (limits.part, limits.step) = (1, 1)
        let scene = try DocumentScene(2, limits, transactionLengthOfFirst: 20_000)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob', 'n': 1})")
        try scene.subscribe(0, ["SELECT * FROM cars WHERE n < 5"])
        let wire = try scene.connect(0, 1, rightsOfLeft: rights)
        try scene.run()
        try scene.execute(0, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        scene.nodes[0].isBusy = true
        for id in ["c", "e", "f", "g"] {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': :id, 'owner': 'ann', 'n': 7})",
                ["id": Value.string(id)])
        }
        try scene.subscribe(0, ["SELECT * FROM cars WHERE n < 9"])
        try scene.run()
        let long = Value.string(String(repeating: "a long story ", count: 4_000))
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": "d", "owner": "ann", "n": 1, "story": long] as Value])
        try scene.run()
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.run()
        try #require(scene.nodes[0].refusals.isEmpty && scene.isConnected(wire))
        scene.nodes[0].isBusy = false
        try scene.run()
        #expect(!scene.isConnected(wire))
        let refused = scene.nodes[0].refused(by: scene.nodes[1])
        #expect(refused.map(\.documentID.json) == ["\"b\""])
    }
}
