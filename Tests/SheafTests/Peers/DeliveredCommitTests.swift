import Sheaf
import SheafReplication
import SheafStatements
import SheafTestSupport
import Testing

/// The newest commit of which a peer has documents.
struct DeliveredCommitTests {
    private func delivered(_ scene: DocumentScene, _ number: Int, to other: Int) -> UInt64 {
        scene.nodes[number].replicator.allStatuses[scene.nodes[other].key]?.deliveredUpTo ?? 0
    }

    private func insert(_ scene: DocumentScene, _ collection: String, _ id: String) throws -> UInt64
    {
        try scene.execute(
            0, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': '\(id)'})"))
        return scene.nodes[0].newestCommit
    }

    @Test func `a commit without documents for a peer is synced, and not delivered`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let first = try insert(scene, "cars", "a")
        _ = try insert(scene, "orders", "a")
        try scene.connect(0, 1)
        try scene.run()
        // The first sync is one batch, and has no document of the last commit.
        #expect(delivered(scene, 0, to: 1) == first)
        let other = try insert(scene, "orders", "b")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == other)
        #expect(delivered(scene, 0, to: 1) == first)
        let second = try insert(scene, "cars", "b")
        try scene.advance(milliseconds: 1_000)
        #expect(delivered(scene, 0, to: 1) == second)
    }

    @Test func `a commit counts as delivered when its acknowledgment arrives`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let first = try insert(scene, "cars", "a")
        let wire = try scene.connect(0, 1)
        try scene.run()
        scene.hold(wire, to: 0)
        let second = try insert(scene, "cars", "b")
        try scene.run()
        #expect(delivered(scene, 0, to: 1) == first)
        // The later commit has not arrived yet.
        scene.hold(wire, to: 1)
        let third = try insert(scene, "cars", "c")
        try scene.run()
        try scene.letGo(wire, to: 0)
        #expect(delivered(scene, 0, to: 1) == second)
        try scene.letGo(wire, to: 1)
        #expect(delivered(scene, 0, to: 1) == third)
    }

    /// Sends several commits in one batch.
    @Test func `commits written while peers were disconnected are delivered`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        _ = try insert(scene, "cars", "a")
        let wire = try scene.connect(0, 1)
        try scene.run()
        try scene.disconnect(wire)
        _ = try insert(scene, "cars", "b")
        let last = try insert(scene, "cars", "c")
        _ = try insert(scene, "orders", "c")
        try scene.connect(0, 1)
        try scene.run()
        #expect(delivered(scene, 0, to: 1) == last)
    }

    @Test func `a delivered commit still counts as delivered after a restart`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let first = try insert(scene, "cars", "a")
        let wire = try scene.connect(0, 1)
        try scene.run()
        _ = try insert(scene, "orders", "a")
        try scene.disconnect(wire)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        try scene.connect(0, 1)
        try scene.advance(milliseconds: 1_000)
        #expect(delivered(scene, 0, to: 1) == first)
    }
}
