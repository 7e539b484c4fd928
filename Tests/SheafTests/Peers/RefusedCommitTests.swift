import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafStorage
import Testing

/// The commits that a refusal lists.
struct RefusedCommitTests {
    private static let rights = PeerRights(
        read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    /// Covers a device without subscriptions, which only scans its own documents.
    @Test(arguments: [true, false], [true, false])
    func `a commit that the other side accepted is not refused after a reconnect`(
        _ sendsRights: Bool, _ subscribes: Bool
    ) throws {
        let scene = try DocumentScene(2)
        let (server, device) = (scene.nodes[0], scene.nodes[1])
        try scene.subscribe(0, ["SELECT * FROM cars"])
        if subscribes { try scene.subscribe(1, ["SELECT * FROM cars"]) }
        var wire = try scene.connect(0, 1, rightsOfRight: Self.rights, sendsRights: sendsRights)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'ann', 'n': 1})")
        try scene.advance(milliseconds: 1_000)
        #expect(device.synced(with: server) == device.newestCommit)
        #expect(try scene.rows(0, "SELECT n FROM cars") == [#"{"n":1}"#])
        try scene.execute(1, "UPDATE cars SET owner = 'bob' WHERE _id = 'c'")
        try scene.advance(milliseconds: 1_000)
        let first = Int64(device.newestCommit)
        for _ in 0..<2 {
            #expect(device.refused(by: server).map(\.commitIDs) == [[first]])
            try scene.disconnect(wire)
            wire = try scene.connect(0, 1, rightsOfRight: Self.rights, sendsRights: sendsRights)
            try scene.advance(milliseconds: 1_000)
        }
        try scene.disconnect(wire)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'c'")
        let second = Int64(device.newestCommit)
        try scene.connect(0, 1, rightsOfRight: Self.rights, sendsRights: sendsRights)
        try scene.advance(milliseconds: 1_000)
        #expect(device.refused(by: server).map(\.commitIDs) == [[first, second]])
    }
}
