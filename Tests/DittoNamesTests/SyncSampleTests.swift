// The samples keep the formatting of the reference documentation.
// swift-format-ignore-file

import DittoNames
import Foundation
import Sheaf
import Testing

/// Samples from the reference documentation about sync.
struct SyncSampleTests {
    private let mesh = DittoMesh()
    private let ditto: Ditto
    private let other: Ditto
    private let printed = PrintedLines()

    init() async throws {
        ditto = try await mesh.ditto("mine")
        other = try await mesh.ditto("server", isServer: true)
        try other.sync.start()
        for id in ["red", "blue"] {
            try other.store["cars"].upsert(["_id": id, "color": id])
        }
    }

    private func print(_ item: Any) { printed.add("\(item)") }

    @Test func `a subscription receives documents after sync has started`() async throws {
        try! ditto.startSync()

        // Register live query to update UI
        let subscription = ditto.store.collection("cars").find("color == 'red'").subscribe()

        #expect(ditto.isSyncActive && ditto.sync.isActive)
        await ditto.documents(of: "SELECT * FROM cars", are: ["red"])
        #expect(subscription.collectionName == "cars" && !subscription.isCancelled)

        subscription.cancel()
        #expect(subscription.isCancelled)
        #expect(ditto.store["cars"].findAll().exec().count == 1)
        ditto.stopSync()
        #expect(!ditto.isSyncActive)
        try await mesh.close()
    }

    @Test func `subscriptions last until they are canceled`() async throws {
        try ditto.startSync()
        var subscribeA: DittoSubscription? = nil
        var liveQueryA: DittoLiveQuery? = nil
        subscribeA = ditto.store.collection("cars").find("color == 'red'").subscribe()
        liveQueryA = ditto.store.collection("cars").findAll().observeLocal { cars, event in
            for car in cars { printed.add(car["color"].stringValue) }
        }
        #expect(await printed.next(1) == ["red"])
        liveQueryA?.stop()
        #expect(subscribeA?.isCancelled == false)
        subscribeA = nil

        var subscriptions = [DittoSubscription]()
        subscriptions.append(ditto.store.collection("cars").find("color == 'blue'").subscribe())
        await ditto.documents(of: "SELECT * FROM cars", are: ["red", "blue"])
        for sub in subscriptions {
            sub.cancel()
        }
        #expect(!subscriptions.contains { !$0.isCancelled })
        subscriptions.removeAll() // After calling cancel, it is safe to remove them from the array.
        #expect(ditto.peer?.sync.subscriptions.isEmpty == true)
        try await mesh.close()
    }

    @Test func `documents that are safe to evict are not synced`() async throws {
        let collection = ditto.store.collection("cars")
        for (id, isSafe) in [("kept", false), ("gone", true)] {
            try other.store["cars"].upsert([
                "_id": id, "createdAt": "2023-05-22T22:24:24.217Z", "isSafeToEvict": isSafe
            ])
        }
        try ditto.startSync()
        let subscription =
        collection.find("createdAt > '2022-05-22T22:24:24.217Z' && isSafeToEvict == false").subscribe()
        await ditto.documents(of: "SELECT * FROM cars", are: ["kept"])
        subscription.cancel()
        try await mesh.close()
    }

    @Test func `evicted flights are not received again by a new subscription`() async throws {
        var day = 16
        func yesterday() -> String { "2022-09-\(day)T20:00:46.945Z" }
        for day in ["16", "17", "18"] {
            try other.store["flights"].upsert(["_id": day, "createdAt": "2022-09-\(day)T20:00:46.945Z"])
        }
        try ditto.startSync()
        var subscription = ditto.store.collection("flights").find("createdAt > $args.yesterday", args: [
          "yesterday": yesterday(),
        ]).subscribe()
        await ditto.documents(of: "SELECT * FROM flights", are: ["17", "18"])

        // 24 hours pass. Need to evict irrelevant data.
        day = 17
        // 1. Stop subscription
        subscription.cancel()
        // 2. Evict irrelevant
        ditto.store.collection("flights").find("createdAt <= $args.yesterday", args: [
          "yesterday": yesterday(),
        ]).evict()
        // 3. Start new subscription
        subscription = ditto.store.collection("flights").find("createdAt > $args.yesterday", args: [
          "yesterday": yesterday(),
        ]).subscribe()

        try other.store["flights"].upsert(["_id": "19", "createdAt": "2022-09-19T20:00:46.945Z"])
        await ditto.documents(of: "SELECT * FROM flights", are: ["18", "19"])
        subscription.cancel()
        try await mesh.close()
    }

    /// An app class from the samples that works on orders.
    private final class Orders {
        let ditto: Ditto
        var query: DittoSubscription?

        init(_ ditto: Ditto) { self.ditto = ditto }

        func begin() {
            self.query = self.ditto.collection("orders")
              .find("status != 'COMPLETE'")
              .subscribe()
            self.ditto.collection("orders").find("status == 'COMPLETE'").evict()
        }
    }

    @Test func `orders that are not complete are synced`() async throws {
        for (id, status) in [("a", "OPEN"), ("b", "COMPLETE")] {
            try other.store["orders"].upsert(["_id": id, "status": status])
        }
        try ditto.startSync()
        let orders = Orders(ditto)
        orders.begin()
        await ditto.documents(of: "SELECT * FROM orders", are: ["a"])
        try await mesh.close()
    }

    @Test func `store observers receive documents that a subscription syncs`() async throws {
        let subscription = try ditto.sync.registerSubscription(
          query: "SELECT * FROM cars WHERE color = :color",
          arguments: [ "color": "blue" ])
        try ditto.sync.start()
        let observer = ditto.store.registerObserver(
          query: "SELECT * FROM cars WHERE color = :color",
          arguments: [ "color": "blue" ]){ result in
            for item in result.items { printed.add(item.value["color"] as? String ?? "") }
        };
        #expect(await printed.next(1) == ["blue"])
        #expect(ditto.sync.subscriptions == [subscription])
        #expect(subscription.queryString == "SELECT * FROM cars WHERE color = :color")
        #expect(subscription.queryArguments["color"] as? String == "blue")
        observer.cancel()
        subscription.cancel()
        #expect(subscription.isCancelled && ditto.sync.subscriptions.isEmpty)
        ditto.sync.stop()
        try await mesh.close()
    }

    @Test func `system:data_sync_info shows that a server has a commit`() async throws {
        try other.sync.registerSubscription(query: "SELECT * FROM orders")
        try ditto.sync.start()
        try await ditto.store.execute(query: "INSERT INTO orders DOCUMENTS ({ _id: 'order-456' })")

        // Step 1: Execute statement and get commit ID
        let result = try await ditto.store.execute(
          query: "UPDATE orders SET status = 'shipped' WHERE _id = :id",
          arguments: ["id": "order-456"]
        )
        let commitId = result.commitID!

        await other.documents(of: "SELECT * FROM orders WHERE status = 'shipped'", are: ["order-456"])
        let server = try #require(other.peer?.key)
        try await ditto.peer?.sync.wait(for: commitId, on: server)

        // Step 2: Check if it synced to cloud
        let syncResult = try await ditto.store.execute(
          query: "SELECT * FROM system:data_sync_info WHERE is_ditto_server = true"
        )

        if let item = syncResult.items.first,
           let documents = item.value["documents"] as? [String: Any],
           let syncedUpTo = documents["synced_up_to_local_commit_id"] as? Int64 {

          if syncedUpTo >= commitId {
            print("Commit synced to cloud")
          } else {
            print("Syncing...")
          }
        }
        #expect(printed.all == ["Commit synced to cloud"])

        // Check sync to a specific peer device
        let peerResult = try await ditto.store.execute(
          query: "SELECT * FROM system:data_sync_info WHERE _id = '\(server)'"
        )

        if let item = peerResult.items.first,
           let documents = item.value["documents"] as? [String: Any],
           let peerSyncedUpTo = documents["synced_up_to_local_commit_id"] as? Int64 {
          print("Peer has synced up to commit \(peerSyncedUpTo)")
        }
        #expect(printed.all.count == 2)
        try await mesh.close()
    }

    @Test func `a delivered commit ID advances when the server has the documents`() async throws {
        try ditto.sync.start()
        try await ditto.store.execute(query: "INSERT INTO orders DOCUMENTS ({ _id: 'order-456' })")
        let result = try await ditto.store.execute(
            query: "UPDATE orders SET status = 'shipped' WHERE _id = :id",
            arguments: ["id": "order-456"]
        )
        let commitID = result.commitID ?? 0
        let observer = ditto.store.registerObserver(
            query: "SELECT * FROM system:data_sync_info WHERE is_ditto_server = true"
        ) { result in
            let documents = result.items.first?.value["documents"] as? [String: Any]
            let synced = documents?["synced_up_to_local_commit_id"] as? Int64 ?? 0
            let delivered = documents?["delivered_up_to_local_commit_id"] as? Int64 ?? 0
            if synced >= commitID, delivered < commitID { print("not subscribed by the server") }
            if delivered >= commitID { print("order-456 is on the server") }
        }
        try other.sync.registerSubscription(query: "SELECT * FROM boats")
        #expect(await printed.next(1) == ["not subscribed by the server"])
        try other.sync.registerSubscription(query: "SELECT * FROM orders")
        await printed.wait(for: "order-456 is on the server")
        await other.documents(of: "SELECT * FROM orders WHERE status = 'shipped'", are: ["order-456"])
        observer.cancel()
        try await mesh.close()
    }

    @Test func `pending commits are removed as a server receives them`() async throws {
        try other.sync.registerSubscription(query: "SELECT * FROM orders")
        try ditto.sync.start()
        var pendingCommits: [Int64] = []
        let result2 = try await ditto.store.execute(
          query: "INSERT INTO orders DOCUMENTS (:order)",
          arguments: ["order": ["_id": "order-789", "status": "pending"]]
        )
        if let commitId2 = result2.commitID {
          pendingCommits.append(commitId2)
        }

        // Watch them sync
        let observer = ditto.store.registerObserver(
          query: "SELECT * FROM system:data_sync_info WHERE is_ditto_server = true"
        ) { result in
          guard let item = result.items.first,
                let documents = item.value["documents"] as? [String: Any],
                let syncedUpTo = documents["synced_up_to_local_commit_id"] as? Int64 else { return }

          // Check which commits have synced
          var syncedCount = 0
          for commitId in pendingCommits {
            if syncedUpTo >= commitId {
              print("Commit \(commitId) synced")
              syncedCount += 1
            } else {
              break
            }
          }

          // Remove synced commits
          if syncedCount > 0 {
            pendingCommits.removeFirst(syncedCount)
            print("\(pendingCommits.count) commits remaining")
          }
        }
        #expect(await printed.next(2) == ["Commit 1 synced", "0 commits remaining"])
        observer.cancel()
        try await mesh.close()
    }
}
