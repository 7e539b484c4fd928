import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Tests of received batches, until they are written and acknowledged or discarded.
struct ReceivedBatchTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT _id FROM cars ORDER BY _id"

    private func scene() throws -> SubscriberScene {
        let scene = try SubscriberScene([cars])
        try scene.connect()
        return scene
    }

    /// Returns fields that are longer than a step of credit, also compressed.
    private func long() -> Object {
        var random = SeededRandom(seed: 1, "texts")
        let letters = random.bytes(100_000).map { 97 + $0 % 26 }
        return ["text": .string(String(decoding: letters, as: UTF8.self))]
    }

    // MARK: Order

    @Test func `an empty batch is acknowledged after those that are being written`() throws {
        let scene = try scene()
        scene.isBusy = true
        try scene.send(5, [("a", ["n": 1])])
        try scene.send(6)
        #expect(scene.acknowledged == [])
        try scene.write()
        #expect(scene.acknowledged == [5])
        try scene.write()
        #expect(scene.acknowledged == [5, 6])
        // Without a write that is running, no job is needed.
        try scene.send(7)
        #expect(scene.acknowledged == [5, 6, 7])
    }

    @Test func `batches that arrive during a write are written together and acknowledged once`()
        throws
    {
        let scene = try scene()
        scene.isBusy = true
        for (commit, id) in [(5, "a"), (6, "b"), (7, "c")] as [(UInt64, String)] {
            try scene.send(commit, [(id, ["n": 1])])
        }
        try scene.write()
        #expect(scene.acknowledged == [5])
        #expect(try scene.store.rows(all) == [#"{"_id":"a"}"#])
        try scene.write()
        #expect(scene.acknowledged == [5, 7])
        #expect(try scene.store.rows(all).count == 3)
    }

    // MARK: Credit

    @Test func `credit is returned once a batch is written`() throws {
        let scene = try scene()
        scene.isBusy = true
        try scene.send(5, [("a", long())])
        #expect(scene.creditCount == 0)
        try scene.write()
        #expect(scene.creditCount == 1 && scene.acknowledged == [5])
    }

    @Test func `a new subscription returns the credit of batches that wait, and discards them`()
        throws
    {
        let scene = try scene()
        scene.isBusy = true
        try scene.send(5, [("a", ["n": 1])])
        try scene.send(6, [("b", long())])
        #expect(scene.creditCount == 0)
        try scene.subscribe([cars, "SELECT * FROM boats"])
        #expect(scene.creditCount == 1)
        // The job that was running is completed, but its batch is not acknowledged.
        scene.isBusy = false
        try scene.write()
        #expect(try scene.store.rows(all) == [#"{"_id":"a"}"#])
        #expect(scene.acknowledged == [])
    }

    @Test func `batches are ignored while the next subscription is delayed`() throws {
        let scene = try scene()
        var queries = [cars]
        for number in 0..<SyncLimits.subscriptionsAtOnce {
            queries.append("SELECT * FROM boats WHERE n = \(number)")
            try scene.subscribe(queries)
        }
        #expect(scene.subscriptions.count == SyncLimits.subscriptionsAtOnce)
        try scene.send(5, [("a", long())])
        #expect(try scene.store.rows(all) == [])
        #expect(scene.acknowledged == [] && scene.creditCount == 1)
    }

    // MARK: Parts

    @Test(arguments: [false, true])
    func `the part of a batch before a new reconciliation is discarded`(
        _ isRestart: Bool
    ) throws {
        let scene = try scene()
        try scene.send(5, [("a", ["n": 1])], isContinued: true)
        if isRestart {
            try scene.restart()
        } else {
            try scene.subscribe([cars, "SELECT * FROM boats"])
        }
        try scene.send(5, [("b", ["n": 1])])
        #expect(try scene.store.rows(all) == [#"{"_id":"b"}"#])
        #expect(scene.acknowledged == [5])
    }

    // MARK: Missing documents

    @Test func `documents without the base of a delta are requested until all have arrived`() throws
    {
        let scene = try scene()
        try scene.send(5, [("a", ["n": 1])])
        try scene.sendDelta(6, "c")
        #expect(scene.subscriptions.count == 2)
        #expect(try scene.subscriptions.last?.complete == [SubscriberScene.address("c")])
        // The earlier one has not arrived, and would arrive as a delta again.
        try scene.sendDelta(6, "b")
        #expect(scene.subscriptions.count == 3)
        let both = try ["b", "c"].map { try SubscriberScene.address($0) }
        #expect(scene.subscriptions.last?.complete == both)
        #expect(scene.subscriptions.map { $0.cursor?.commit } == [nil, 5, 5])
        try scene.send(6, [("b", ["n": 1]), ("c", ["n": 1])])
        #expect(scene.acknowledged == [5, 6])
        try scene.sendDelta(7, "d")
        #expect(try scene.subscriptions.last?.complete == [SubscriberScene.address("d")])
        #expect(scene.subscriptions.map { $0.cursor?.commit } == [nil, 5, 5, 6])
        #expect(try scene.store.rows(all).count == 3)
    }

    // MARK: Refused documents

    private static let rights = PeerRights(
        read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    /// Returns the log messages about refused documents.
    private func messages(_ scene: SubscriberScene) -> [String] {
        scene.store.messages(.warning).filter {
            $0.hasPrefix("a peer has sent documents that it may not write; they were skipped")
        }
    }

    @Test func `documents that a peer may not write are skipped, logged and reported`() throws {
        let scene = try SubscriberScene([cars])
        try scene.connect(rightsOfPeer: Self.rights)
        try scene.send(5, [("a", ["owner": "ann"])])
        #expect(messages(scene).isEmpty && scene.notices.isEmpty)
        try scene.send(
            6, [("b", ["owner": "bob"]), ("c", ["owner": "ann"]), ("d", ["owner": "bob"])])
        #expect(try scene.store.rows(all) == [#"{"_id":"a"}"#, #"{"_id":"c"}"#])
        let refused = try ["b", "d"].map { try SubscriberScene.address($0) }
        #expect(
            scene.notices == [RefusedNotice(generation: 1, commit: 6, .result, refused)])
        let found = messages(scene)
        #expect(found.count == 1)
        for field in [" collection=cars", " documents=2", " id=\"b\"", " reported=2"] {
            #expect(found.first?.contains(field) == true, "\(field)")
        }
        #expect(scene.acknowledged == [5, 6] && scene.closeMessage == nil)
    }

    @Test func `refused documents of an older subscription are logged, and not reported`() throws {
        let scene = try SubscriberScene([cars])
        try scene.connect(rightsOfPeer: Self.rights)
        scene.isBusy = true
        try scene.send(5, [("b", ["owner": "bob"])])
        try scene.subscribe([cars, "SELECT * FROM boats"])
        scene.isBusy = false
        try scene.write()
        #expect(messages(scene).count == 1)
        #expect(scene.notices.isEmpty && scene.acknowledged.isEmpty)
    }

    @Test func `a batch beyond the length of a transaction ends the connection`() throws {
        for rights in [nil, Self.rights] {
            let scene = try SubscriberScene([cars], transactionLength: 1_000)
            try scene.connect(rightsOfPeer: rights)
            let text = Value.string(String(repeating: "x", count: 2_000))
            try scene.send(5, [("a", ["owner": "ann", "text": text])])
            let closed = try #require(scene.closeMessage)
            #expect(closed.code == .limit)
            // The text for a peer with limited rights has no lengths.
            let short = "a batch, or a document in it, is too long"
            #expect((closed.text == short) == (rights != nil))
            #expect(closed.text.contains("1000") == (rights == nil), "\(closed.text)")
            #expect(try scene.store.rows(all).isEmpty)
        }
    }
}
