import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Batches of the documents that differ in a reconciliation.
struct RequestedBatchTests {
    private func insert(_ ids: [String], into collection: String, of scene: DocumentScene) throws {
        let documents = ids.map { "({'_id': '\($0)'})" }.joined(separator: ", ")
        try scene.execute(0, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS \(documents)"))
    }

    @Test(arguments: [false, true])
    func `the documents that differ are counted, and each is sent once`(_ isLimited: Bool) throws {
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
        let (cars, boats) = ((0..<30).map { "new\($0)" }, (0..<10).map { "boat\($0)" })
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

    /// Replaces the request for all documents by one that names two of them.
    @Test(arguments: [false, true])
    func `a document that a request names twice is counted and sent once`(_ isLimited: Bool) throws
    {
        var limits = ReplicatorLimits()
        limits.part = 1
        let scene = try DocumentScene(2, limits)
        try insert(["a", "b", "c"], into: "cars", of: scene)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let rights = isLimited ? PeerRights(read: ["cars": "true"], write: [:]) : nil
        let (wire, sent) = try scene.connectRecorded(0, 1, rightsOfRight: rights)
        let addresses = try ["a", "b", "a"].map { id in
            DocumentAddress(collection: "cars", id: try DocumentID.key(of: .string(id)))
        }
        scene.forge(wire, to: 0) { frame in
            guard frame.type == .want else { return frame }
            let want = try frame.body.withUnsafeBytes { try Want(decoding: $0) }
            let named = Want(generation: want.generation, .some(addresses, isContinued: false))
            return Frame(.want, named.bytes)
        }
        try scene.run()
        #expect(sent.texts == ["a (continued, of 2)", "b (of 1)"])
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 2)
    }
}
