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
}
