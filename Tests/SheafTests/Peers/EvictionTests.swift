import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Documents that a device evicts and receives again.
struct EvictionTests {
    @Test func `an evicted document that matches a subscription is received again`() async throws {
        let scene = try await PeerScene(2)
        let (left, right) = (scene.peers[0], scene.peers[1])
        for peer in scene.peers { try peer.sync.registerSubscription("SELECT * FROM cars") }
        scene.connect(0, 1)
        try await left.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try await right.items(of: "SELECT * FROM cars") { $0.count == 1 }
        let evicted = try await right.store.execute("EVICT FROM cars WHERE _id = 'a'")
        #expect(evicted.mutatedDocumentIDs.count == 1)
        try await right.items(of: "SELECT * FROM cars") { $0.count == 1 }
        #expect(try await left.store.execute("SELECT * FROM cars").items.count == 1)
        try await scene.close()
    }

    /// Evicts a document on its device, which then updates an older state of it.
    @Test func `evicted writes of a device are merged with its later ones`() async throws {
        let scene = try await PeerScene(3)
        let (device, old, new) = (scene.peers[0], scene.peers[1], scene.peers[2])
        for peer in [old, new] { try peer.sync.registerSubscription("SELECT * FROM cars") }
        let subscription = try device.sync.registerSubscription("SELECT * FROM cars")
        scene.connect(0, 1)
        scene.connect(0, 2)
        try await device.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        for peer in [old, new] { try await peer.items(of: "SELECT * FROM cars") { $0.count == 1 } }
        scene.disconnect(0, 1)
        try await device.store.execute("UPDATE cars SET notes = 'late' WHERE _id = 'a'")
        try await new.items(of: "SELECT notes FROM cars") { $0 == [#"{"notes":"late"}"#] }
        scene.disconnect(0, 2)
        subscription.cancel()
        try await device.store.execute("EVICT FROM cars")
        #expect(try await device.store.execute("SELECT * FROM cars").items.isEmpty)
        #expect(
            try await device.store.execute("SELECT COUNT(*) AS n FROM cars").items[0].jsonString
                == #"{"n":0}"#)
        try device.sync.registerSubscription("SELECT * FROM cars")
        scene.connect(0, 1)
        try await device.items(of: "SELECT n FROM cars") { $0 == [#"{"n":1}"#] }
        try await device.store.execute("UPDATE cars SET n = 2 WHERE _id = 'a'")
        scene.connect(0, 2)
        for peer in scene.peers {
            try await peer.items(of: "SELECT n, notes FROM cars") {
                $0 == [#"{"n":2,"notes":"late"}"#]
            }
        }
        try await scene.close()
    }

    /// Follows the daily pattern: cancel the subscription, evict old documents, subscribe again.
    @Test func `an eviction of old documents affects only its device`() async throws {
        let scene = try await PeerScene(2)
        let (device, server) = (scene.peers[0], scene.peers[1])
        try server.sync.registerSubscription("SELECT * FROM orders")
        scene.connect(0, 1)
        var subscription = try device.sync.registerSubscription(
            "SELECT * FROM orders WHERE createdAt > :day", ["day": "2023-05-20"])
        for (id, day) in [("a", "2023-05-21"), ("b", "2023-05-22"), ("c", "2023-05-23")] {
            try await server.store.execute(
                "INSERT INTO orders DOCUMENTS (:order)",
                ["order": ["_id": .string(id), "createdAt": .string(day)] as Value])
        }
        try await device.items(of: "SELECT * FROM orders") { $0.count == 3 }
        subscription.cancel()
        try await device.store.execute(
            "EVICT FROM orders WHERE createdAt <= :day", ["day": "2023-05-22"])
        subscription = try device.sync.registerSubscription(
            "SELECT * FROM orders WHERE createdAt > :day", ["day": "2023-05-22"])
        let marker = try await server.store.execute(
            "INSERT INTO orders DOCUMENTS ({'_id': 'd', 'createdAt': '2023-05-24'})")
        try await server.sync.wait(for: try #require(marker.commitID), on: device.key)
        let ids = try await device.store.execute("SELECT _id FROM orders ORDER BY _id").items
            .map { try $0.jsonString }
        #expect(ids == [#"{"_id":"c"}"#, #"{"_id":"d"}"#])
        #expect(try await server.store.execute("SELECT * FROM orders").items.count == 4)
        try await scene.close()
    }

    /// Evicts documents between the subscription and the writes of the limited peer.
    ///
    /// With seven documents in each part, the eviction precedes or follows the first part.
    @Test(arguments: [(1_000, 0), (7, 0), (7, 1)])
    func `documents evicted while a limited peer reconciles are sent by it again`(
        _ most: Int, _ partsBefore: Int
    ) throws {
        var limits = ReplicatorLimits()
        limits.wanted = most
        let scene = try DocumentScene(2, limits)
        for (number, ids) in [0..<20, 100..<101].enumerated() {
            try scene.subscribe(number, ["SELECT * FROM cars"])
            let cars = ids.map { "({'_id': \($0)})" }.joined(separator: ", ")
            try scene.execute(number, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(cars)"))
        }
        let wire = try scene.connect(
            0, 1,
            rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]))
        scene.hold(wire, to: 0)
        while scene.nodes[1].sent.count(where: { $0 == .want }) <= partsBefore {
            try #require(try scene.deliverHeld(wire, to: 0))
        }
        try scene.execute(0, "EVICT FROM cars")
        try scene.run()
        try scene.letGo(wire, to: 0)
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 21)
        #expect(try scene.rows(0, "SELECT * FROM cars").count == 21)
    }
}
