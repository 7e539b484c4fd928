import Sheaf
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Document ids in the frames of a reconciliation with a peer that may not read all documents.
struct HiddenReconciliationTests {
    /// Ids of the documents that only the server has; the device may read the first one.
    private let ids = ["readable", "secret", "deleted secret"]

    /// Returns a server (0) with a subscription, and a device (1) with limited rights and another.
    private func scene(_ queries: [String], of device: [String]) throws -> DocumentScene {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, queries)
        try scene.subscribe(1, device)
        for (id, owner) in zip(ids, ["ann", "bob", "bob"]) {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string(id), "owner": .string(owner)] as Value])
        }
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'deleted secret'")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'own', 'owner': 'ann'})")
        scene.nodes[0].keepsFrames = true
        let rights = PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": "true"])
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.advance(milliseconds: 1_000)
        return scene
    }

    /// Returns the ids that the server has named in its frames, or in those of one type.
    private func named(_ scene: DocumentScene, _ type: FrameType? = nil) -> [String] {
        let frames = scene.nodes[0].frames.filter {
            type == nil || FrameType(rawValue: $0[8]) == type
        }
        return ids.filter { id in frames.contains { $0.contains(id.utf8) } }
    }

    /// With a LIMIT, the listed documents are ranked first.
    private static let queries = ["SELECT * FROM cars", "SELECT * FROM cars ORDER BY _id LIMIT 9"]

    @Test(arguments: queries)
    func `a subscriber names no document that the other side may not read`(_ query: String) throws {
        let scene = try scene([query], of: [])
        #expect(named(scene, .want) == ["readable"])
        #expect(named(scene) == ["readable"])
        #expect(try scene.rows(0, "SELECT * FROM cars").count == 3)
    }

    @Test(arguments: queries)
    func `a peer answers a subscriber without documents that it may not read`(
        _ query: String
    ) throws {
        let scene = try scene([], of: [query])
        #expect(named(scene, .answer) == ["readable"])
        #expect(named(scene) == ["readable"])
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 2)
    }
}
