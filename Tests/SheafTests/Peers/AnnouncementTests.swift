import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Tests of received announcements, until their documents are durable or requested.
struct AnnouncementTests {
    private typealias Scene = SubscriberScene

    private let cars = "SELECT * FROM cars"
    private let red = "SELECT * FROM cars WHERE color = 'red'"

    private func scene() throws -> SubscriberScene {
        let scene = try Scene([cars])
        try scene.connect()
        return scene
    }

    private func send(_ id: String, in commit: UInt64, to scene: SubscriberScene) throws {
        try scene.send(commit, [(id, ["n": 1])])
    }

    // MARK: Arrival

    @Test func `announcements are acknowledged in their order, the last of several alone`() throws {
        let scene = try scene()
        try scene.announce(5, [Scene.entry("a", at: 10)])
        try scene.announce(6, [Scene.entry("b", at: 10)])
        try scene.announce(7)
        try scene.join("b", ["n": 1], at: 10)
        #expect(scene.acknowledged == [])
        try scene.join("a", ["n": 1], at: 10)
        #expect(scene.acknowledged == [7])
        try scene.announce(9, [Scene.entry("a", at: 10), Scene.entry("b", at: 10)])
        #expect(scene.acknowledged == [7, 9])
        // Nothing is acknowledged twice.
        try scene.join("c", ["n": 1], at: 10)
        try scene.announce(9, [Scene.entry("d", at: 10)])
        #expect(scene.acknowledged == [7, 9])
        #expect(scene.subscriptions.count == 1)
    }

    @Test func `an announced document has arrived in its version or a later one`() throws {
        for (entries, hasArrived) in [
            ([("a", 10)], true), ([("a", 9)], true), ([("a", 11)], false), ([("none", 1)], false),
            ([("a", 10), ("b", 12)], true), ([("a", 10), ("b", 13)], false),
            ([("a", 11), ("b", 12)], false), ([("none", 1), ("a", 10)], false),
        ] as [([(String, UInt64)], Bool)] {
            let scene = try scene()
            try scene.join("a", ["n": 1], at: 10)
            try scene.join("b", ["n": 1], at: 12)
            try scene.announce(5, entries.map { try Scene.entry($0.0, at: $0.1) })
            #expect(scene.acknowledged == (hasArrived ? [5] : []), "\(entries)")
        }
    }

    @Test func `an announced document of an unknown collection has not arrived`() throws {
        let scene = try scene()
        try scene.join("a", ["n": 1], at: 10)
        try scene.announce(5, [Scene.entry("a", at: 10, in: "boats")])
        #expect(scene.acknowledged == [])
    }

    @Test func `an evicted document with local writes has not arrived, and is not sent`() throws {
        let scene = try scene()
        try scene.subscribePeer(to: red)
        try scene.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'blue'})")
        let vector = try #require(try scene.vector(of: "a"))
        try scene.execute("EVICT FROM cars WHERE _id = 'a'")
        try scene.announce(5, [Announce.Entry(address: Scene.address("a"), vector: vector)])
        #expect(scene.acknowledged == [])
        #expect(scene.replicator.repairCount == 0 && scene.received == [])
    }

    @Test func `documents of collections that are not shared are not awaited`() throws {
        let scene = try Scene(
            [cars, "SELECT * FROM boats"],
            setup: "ALTER SYSTEM SET user_collection_sync_scopes = {'boats': 'LocalPeerOnly'}")
        try scene.connect()
        try scene.announce(
            5, [Scene.entry("a", at: 10), Scene.entry("b", at: 10, in: "boats")])
        #expect(scene.acknowledged == [])
        try scene.join("a", ["n": 1], at: 10)
        #expect(scene.acknowledged == [5])
    }

    @Test func `acknowledged announcements advance the cursor of the next connection`() throws {
        let scene = try scene()
        try scene.announce(5, [Scene.entry("a", at: 10)])
        try scene.announce(8, [Scene.entry("b", at: 10)])
        try scene.join("a", ["n": 1], at: 10)
        try scene.disconnect()
        try scene.connect()
        #expect(scene.subscriptions.map { $0.cursor?.commit } == [nil, 5])
    }

    @Test func `an announcement of an older subscription does not advance the cursor`() throws {
        let scene = try scene()
        var queries = [cars]
        for number in 0..<SyncLimits.subscriptionsAtOnce {
            queries.append("SELECT * FROM boats WHERE n = \(number)")
            try scene.subscribe(queries)
        }
        // The rate limiter delays the last subscription.
        #expect(scene.subscriptions.count == SyncLimits.subscriptionsAtOnce)
        try scene.announce(5)
        try scene.advance(milliseconds: 500)
        #expect(scene.subscriptions.count == SyncLimits.subscriptionsAtOnce + 1)
        #expect(scene.subscriptions.last?.queries.count == queries.count)
        #expect(scene.subscriptions.last?.cursor == nil)
        #expect(scene.acknowledged == [])
    }

    // MARK: Batches

    @Test func `an announcement is acknowledged once batches received before it are durable`()
        throws
    {
        let scene = try scene()
        (scene.isBusy, scene.flushesLate) = (true, true)
        try send("a", in: 5, to: scene)
        try scene.announce(6)
        #expect(scene.acknowledged == [])
        try scene.write()
        #expect(scene.acknowledged == [])
        try scene.flush()
        #expect(scene.acknowledged == [6])
        // The next batch is written before the announcement arrives.
        (scene.isBusy, scene.flushesLate) = (false, true)
        try send("b", in: 7, to: scene)
        try scene.announce(8)
        #expect(scene.acknowledged == [6])
        try scene.flush()
        #expect(scene.acknowledged == [6, 7, 8])
    }

    @Test func `an announcement between two batches of a job waits for the first of them`() throws {
        let scene = try scene()
        scene.isBusy = true
        try send("a", in: 4, to: scene)
        try send("b", in: 5, to: scene)
        try scene.announce(6)
        try send("c", in: 7, to: scene)
        try scene.write()
        #expect(scene.acknowledged == [])
        scene.flushesLate = true
        try scene.write()
        #expect(scene.acknowledged == [4])
        try scene.flush()
        #expect(scene.acknowledged == [4, 7])
    }

    @Test func `a batch after an announcement is acknowledged after it`() throws {
        let scene = try scene()
        try scene.announce(5, [Scene.entry("a", at: 10)])
        try send("b", in: 6, to: scene)
        #expect(scene.acknowledged == [])
        try scene.join("a", ["n": 1], at: 10)
        #expect(scene.acknowledged == [6])
    }

    // MARK: Repairs

    @Test func `a peer that announces an older version gets the local one`() throws {
        for (time, isRepaired, hasArrived) in [
            (9, true, true), (10, false, true), (11, false, false),
        ] as [(UInt64, Bool, Bool)] {
            let scene = try scene()
            try scene.subscribePeer(to: red)
            try scene.join("a", ["color": "blue"], at: 10)
            try scene.announce(5, [Scene.entry("a", at: time)])
            #expect(scene.received == (isRepaired ? ["a"] : []), "\(time)")
            #expect((scene.replicator.repairCount == 1) == isRepaired, "\(time)")
            #expect(scene.acknowledged == (hasArrived ? [5] : []), "\(time)")
        }
    }

    @Test func `a document that arrives in a later version than announced is repaired`() throws {
        let scene = try scene()
        try scene.subscribePeer(to: red)
        try scene.announce(5, [Scene.entry("a", at: 10)])
        #expect(scene.received == [])
        try scene.join("a", ["color": "blue"], at: 12)
        #expect(scene.received == ["a"] && scene.acknowledged == [5])
    }

    // MARK: Requests

    @Test func `announced documents are requested 300 ms after the last arrival`() throws {
        let scene = try scene()
        try scene.announce(5, [Scene.entry("a", at: 10)])
        try scene.announce(6, [Scene.entry("b", at: 10)])
        try scene.advance(milliseconds: 200)
        try scene.join("a", ["n": 1], at: 10)
        #expect(scene.acknowledged == [5])
        try scene.advance(milliseconds: 299)
        #expect(scene.subscriptions.count == 1)
        try scene.advance(milliseconds: 1)
        // The cursor covers the announcement whose document has arrived.
        #expect(scene.subscriptions.map { $0.cursor?.commit } == [nil, 5])
    }

    @Test func `announced documents are not requested during a write`() throws {
        let scene = try scene()
        try scene.announce(5, [Scene.entry("a", at: 10)])
        scene.isBusy = true
        try send("b", in: 6, to: scene)
        // The connection is visited, because it is quiet for 30 s.
        try scene.advance(milliseconds: 31_000)
        #expect(scene.subscriptions.count == 1)
        try scene.write()
        #expect(scene.subscriptions.count == 2)
    }

    @Test func `documents are requested when announcements reach eight mebibytes`() throws {
        let scene = try scene()
        // With 128 for an entry and 64 for a message, each announcement takes 65,536 bytes.
        let entries = (0..<16).map { number in
            Announce.Entry(
                address: DocumentAddress(
                    collection: "cars", id: [UInt8(number)] + [UInt8](repeating: 1, count: 3_943)),
                vector: VersionVector(Scene.stamp(1)))
        }
        for commit: UInt64 in 1...127 { try scene.announce(commit, entries) }
        #expect(scene.subscriptions.count == 1)
        try scene.announce(128, entries)
        #expect(scene.subscriptions.count == 2)
        #expect(scene.subscriptions.last?.cursor == nil && scene.acknowledged == [])
    }
}
