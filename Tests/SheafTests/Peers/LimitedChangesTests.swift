import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Changed documents that wait for a peer with limited rights that grants no credit.
struct LimitedChangesTests {
    private let rights = PeerRights(read: ["cars": "true"], write: [:])

    /// A text that is not compressed: it repeats itself only at a large distance.
    private static let large: String = {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("a text that uses up the credit, seed \(seed)")
        var random = SeededRandom(seed: seed)
        var text = ""
        for _ in 0..<9_000 { text += String(random.below(1 << 40), radix: 36) }
        return String(repeating: text, count: 6)
    }()

    /// Returns a replicator whose credit from a peer is used up.
    private func scene(
        changes: Int = 1 << 16, bytes: Int = 16 << 20
    ) throws -> (ReplicatorScene, ReplicatorScene.ScriptedPeer) {
        var limits = ReplicatorLimits()
        (limits.limitedChanges, limits.limitedChangeBytes) = (changes, bytes)
        let scene = try ReplicatorScene(limits)
        let peer = scene.connect(1, rights: rights, at: 1)
        peer.withholdsCredit = true
        try scene.subscribe(peer, ["SELECT * FROM cars WHERE n >= 0"], at: 1)
        scene.settle(at: 1)
        for number in 10..<24 { try insert("large \(number)", Self.large, in: scene) }
        #expect(peer.documents < 14)
        #expect(peer.comparisons == 1)
        return (scene, peer)
    }

    private func insert(_ id: String, n: Int64 = 1, _ text: String, in scene: ReplicatorScene)
        throws
    {
        let car: Object = ["_id": .string(id), "n": .integer(n), "text": .string(text)]
        try scene.execute(
            "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
            ["car": Value.object(car)], at: 1)
        scene.settle(at: 1)
    }

    @Test func `a document that changes often is sent once`() throws {
        let (scene, peer) = try scene(changes: 20)
        let documents = peer.documents
        for n in Int64(0)..<100 { try insert("a", n: n, "x", in: scene) }
        #expect(peer.comparisons == 1)
        scene.grant(peer, at: 1)
        scene.settle(at: 1)
        // The peer has the large documents that waited, and this document.
        #expect(peer.documents == 15)
        #expect(peer.documents > documents)
        #expect(peer.comparisons == 1)
    }

    /// Commits more than 4,096 new documents, which the change feed does not list.
    @Test func `a change published with a long commit and a change of the peer is sent`() throws {
        let scene = try DocumentScene(3)
        for number in 0...1 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.subscribe(2, ["SELECT * FROM cars WHERE _id = 'a'"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1, 'x': 1, 'y': 1})")
        let wire = try scene.connect(0, 1)
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "true"])
        try scene.connect(0, 2, rightsOfRight: rights)
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
        try scene.disconnect(wire)
        try scene.execute(1, "UPDATE cars SET y = 2 WHERE _id = 'a'")
        for first in [0, 2_100] {
            let many = (first..<first + 2_100).map { "({'_id': \($0)})" }
            try scene.execute(
                1, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(many.joined(separator: ", "))"))
        }
        scene.nodes[0].flushesLate = true
        try scene.execute(2, "UPDATE cars SET x = 2 WHERE _id = 'a'")
        try scene.run()
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[0].flushesLate = false
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 1})")
        for _ in 0..<3 { try scene.advance(milliseconds: 1_000) }
        for node in 0...2 {
            let row = try scene.rows(node, "SELECT * FROM cars WHERE _id = 'a'")
            #expect(row == [#"{"_id":"a","n":1,"x":2,"y":2}"#], "on node \(node)")
        }
    }

    /// Changes too many documents to be listed for the peer, after each number of messages in turn.
    @Test func `peers agree after a reconciliation restarts within a batch`() throws {
        var limits = ReplicatorLimits()
        (limits.part, limits.limitedChanges) = (200, 4)
        let rights = PeerRights(read: ["cars": "true"], write: [:])
        var restarts = 0
        for steps in 1...30 {
            let scene = try DocumentScene(2, limits)
            let many = (0..<40).map { "({'_id': \($0), 'n': 0})" }.joined(separator: ", ")
            try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(many)"))
            try scene.subscribe(1, ["SELECT * FROM cars"])
            try scene.connect(0, 1, rightsOfRight: rights)
            try scene.run(steps: steps)
            try scene.execute(0, "UPDATE cars SET n = 1 WHERE _id < 10")
            for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
            restarts += scene.nodes[0].sent.count { $0 == .restart }
            #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty }, "after \(steps) messages")
            #expect(try scene.checksums() == 1)
        }
        #expect(restarts > 5)
    }

    @Test func `documents that match no query are not listed`() throws {
        let (scene, peer) = try scene(changes: 20)
        for n in Int64(0)..<100 { try insert("\(n)", n: -1, "x", in: scene) }
        #expect(peer.comparisons == 1)
    }

    @Test func `former states are released before the peer grants credit`() throws {
        let (scene, peer) = try scene(bytes: 100_000)
        for id in ["a", "b", "c"] {
            for letter in ["x", "y"] {
                try insert(id, String(repeating: letter, count: 60_000), in: scene)
            }
        }
        #expect(peer.comparisons == 1)
        scene.grant(peer, at: 1)
        scene.settle(at: 1)
        #expect(peer.documents == 17)
    }

    /// Returns how many small documents wait until the peers reconcile, and the length of the keys
    /// of a large and of a small document.
    private func waiting(
        changes: Int = 1 << 16, bytes: Int = 16 << 20
    ) throws -> (small: Int, lengths: [Int]) {
        let (scene, peer) = try scene(changes: changes, bytes: bytes)
        var count = 0
        while peer.comparisons == 1, count < 100 {
            try insert("\(100 + count)", "x", in: scene)
            count += 1
        }
        let snapshot = scene.scene.nodes[0].store.queries.documents.snapshot()
        let lengths = try ["large 20", "100"].map { id in
            try #require(try snapshot.key(collection: "cars", id: .string(id))).count
        }
        return (count - 1, lengths)
    }

    @Test func `a limited number of documents waits, in a limited number of bytes`() throws {
        let (small, lengths) = try waiting(changes: 12)
        // Some large documents wait, too, and one of them is being sent.
        #expect((1...12).contains(small))
        #expect(try waiting(changes: 13).small == small + 1)
        // Each document takes the bytes of its key, and 64 bytes.
        let bytes = (12 - small) * (lengths[0] + 64) + 5 * (lengths[1] + 64)
        #expect(try waiting(bytes: bytes - 1).small == 4)
        #expect(try waiting(bytes: bytes).small == 5)
    }

    @Test func `a peer with too many bytes of waiting changes reconciles`() throws {
        let (scene, peer) = try scene(bytes: 20_000)
        for number in 0..<30 {
            try insert("\(number)" + String(repeating: "i", count: 1_000), "x", in: scene)
        }
        #expect(peer.comparisons == 2)
        let documents = peer.documents
        scene.grant(peer, at: 1)
        scene.settle(at: 1)
        // All documents are sent, because this remote peer keeps none.
        #expect(peer.documents >= documents + 30)
        #expect(peer.closeMessage == nil)
    }
}
