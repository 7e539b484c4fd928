import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Batches of the documents that differ in a reconciliation.
struct RequestedBatchTests {
    private func insert(_ ids: [String], into collection: String, of scene: DocumentScene) throws {
        guard !ids.isEmpty else { return }
        let documents = ids.map { "({'_id': '\($0)'})" }.joined(separator: ", ")
        try scene.execute(0, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS \(documents)"))
    }

    /// Requests changed documents by their versions, and new ones by ranges.
    @Test(arguments: [false, true], [0, 30])
    func `the documents that differ are counted, and each is sent once`(
        _ isLimited: Bool, _ count: Int
    ) throws {
        var limits = ReplicatorLimits()
        limits.part = 1
        let scene = try DocumentScene(2, limits)
        try insert((0..<20).map { "old\($0)" }, into: "cars", of: scene)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let rights =
            isLimited ? PeerRights(read: ["cars": "true", "boats": "true"], write: [:]) : nil
        let wire = try scene.connect(0, 1, rightsOfRight: rights)
        for _ in 0..<2 { try scene.advance(milliseconds: 1_000) }
        try scene.disconnect(wire)
        let changed = ["old3", "old4", "old17"]
        for id in changed {
            try scene.execute(
                0, "UPDATE cars SET n = 1 WHERE _id = :id", ["id": Value.string(id)])
        }
        let (cars, boats) = ((0..<count).map { "new\($0)" }, (0..<count / 3).map { "boat\($0)" })
        try insert(cars, into: "cars", of: scene)
        try insert(boats, into: "boats", of: scene)
        // A wider subscription has no cursor.
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM boats"])
        let sent = try scene.connectRecorded(0, 1, rightsOfRight: rights).sent
        for _ in 0..<2 { try scene.advance(milliseconds: 1_000) }
        let texts = sent.texts
        let ids = texts.map { String($0.prefix { $0 != " " }) }
        let expected = changed + cars + boats
        #expect(ids.sorted() == expected.sorted())
        let lines = ids.enumerated().map { index, id in
            let end = index + 1 < expected.count ? "continued, " : ""
            return "\(id) (\(end)of \(expected.count - index))"
        }
        #expect(texts == lines)
        #expect(try scene.checksums() == 1)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
    }
}
