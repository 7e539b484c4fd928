// The samples keep the formatting of the reference documentation.
// swift-format-ignore-file

import DittoNames
import Testing

/// Samples from the reference documentation about commit IDs.
struct CommitIDSampleTests {
    private let ditto: Ditto
    private let printed = PrintedLines()

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    private func print(_ item: Any) { printed.add("\(item)") }

    @Test func `a modification returns a commit ID`() async throws {
        try await ditto.store.execute(
            query: "INSERT INTO products DOCUMENTS ({ _id: 'product-123', price: 1 })")

        let result = try await ditto.store.execute(
          query: "UPDATE products SET price = 99.99 WHERE _id = 'product-123'"
        )
        print("Commit ID: \(result.commitID ?? -1)") // e.g., 1547

        #expect(printed.all == ["Commit ID: 2"])
        #expect(result.mutatedDocumentIDs() == ["product-123"])
        try await ditto.close()
    }

    @Test func `a read-only statement has no commit ID`() async throws {
        let write = try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 'a' })")
        #expect(write.commitID == 1)
        for query in ["SELECT * FROM cars", "SELECT * FROM cars WHERE _id = 'a'", "SHOW ALL", "EXPLAIN SELECT * FROM cars"] {
            #expect(try await ditto.store.execute(query: query).commitID == nil, "\(query)")
        }
        for query in ["UPDATE cars SET a = 1 WHERE _id = 'b'", "DELETE FROM cars WHERE _id = 'b'"] {
            #expect(try await ditto.store.execute(query: query).commitID == 1, "\(query)")
        }
        try await ditto.store.transaction { transaction in
            let read = try await transaction.execute(query: "SELECT * FROM cars")
            #expect(read.commitID == nil)
            return .commit
        }
        let (results, found) = AsyncStream.makeStream(of: Int64?.self)
        let observer = ditto.store.registerObserver(query: "SELECT * FROM cars") { found.yield($0.commitID) }
        for await commit in results {
            #expect(commit == nil)
            break
        }
        observer.cancel()
        try await ditto.close()
    }

    @Test func `a commit is not reported as synced without a connected peer`() async throws {
        // Step 1: Execute statement and get commit ID
        let result = try await ditto.store.execute(
          query: "UPDATE orders SET status = 'shipped' WHERE _id = :id",
          arguments: ["id": "order-456"]
        )
        let commitId = result.commitID!

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

        // No peer is connected.
        #expect(printed.all == [])
        try await ditto.close()
    }

    @Test func `no pending commit is reported as synced without a connected peer`() async throws {
        try await ditto.store.execute(
            query: "INSERT INTO inventory DOCUMENTS ({ _id: 'item-1', quantity: 10 })")

        var pendingCommits: [Int64] = []

        // Make several commits
        let result1 = try await ditto.store.execute(
          query: "UPDATE inventory SET quantity = quantity - 1 WHERE _id = 'item-1'"
        )
        if let commitId1 = result1.commitID {
          pendingCommits.append(commitId1)
        }

        let result2 = try await ditto.store.execute(
          query: "INSERT INTO orders DOCUMENTS (:order)",
          arguments: ["order": ["_id": "order-789", "status": "pending"]]
        )
        if let commitId2 = result2.commitID {
          pendingCommits.append(commitId2)
        }
        #expect(pendingCommits == [2, 3])

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

        #expect(ditto.store.observers == [observer])
        observer.cancel()
        #expect(ditto.store.observers.isEmpty)
        #expect(printed.all == [])
        let order = try await ditto.store.execute(query: "SELECT * FROM orders")
        #expect(order.items.map { $0.jsonString() } == [#"{"_id":"order-789","status":"pending"}"#])
        try await ditto.close()
    }

    /// The sample of pending commits, over a collection that simulates peers.
    @Test func `pending commits are removed as a peer reports them`() async throws {
        var pendingCommits: [Int64] = [2, 3, 7]

        let observer = ditto.store.registerObserver(
          query: "SELECT * FROM peers WHERE is_ditto_server = true"
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

        let report = "INSERT INTO peers DOCUMENTS (:peer) ON ID CONFLICT DO MERGE"
        func peer(_ commit: Int) -> [String: Any] {
            [
                "_id": "server", "is_ditto_server": true,
                "documents": ["synced_up_to_local_commit_id": commit],
            ]
        }
        try await ditto.store.execute(query: report, arguments: ["peer": peer(3)])
        #expect(
            await printed.next(3)
                == ["Commit 2 synced", "Commit 3 synced", "1 commits remaining"])
        try await ditto.store.execute(query: report, arguments: ["peer": peer(9)])
        #expect(await printed.next(2) == ["Commit 7 synced", "0 commits remaining"])
        observer.cancel()
        try await ditto.close()
    }

    @Test func `a transaction has a commit ID after its commit`() async throws {
        var queryResult: DittoQueryResult?

        try await ditto.store.transaction { transaction in
          queryResult = try await transaction.execute(
            query: "INSERT INTO orders DOCUMENTS ({ _id: 'order-123', total: 99.99 })"
          )
  
          print(queryResult?.commitID ?? "nil") // nil - not committed yet
  
          return try await transaction.commit()
        }

        print(queryResult?.commitID ?? "nil") // 1548 - now has commit ID

        #expect(printed.all == ["nil", "1"])
        try await ditto.close()
    }

    @Test func `the synced commits of an unknown peer are an empty result`() async throws {
        // Check sync to a specific peer device
        let syncResult = try await ditto.store.execute(
          query: "SELECT * FROM system:data_sync_info WHERE _id = 'peer-device-456'"
        )

        if let item = syncResult.items.first,
           let documents = item.value["documents"] as? [String: Any],
           let peerSyncedUpTo = documents["synced_up_to_local_commit_id"] as? Int64 {
          print("Peer has synced up to commit \(peerSyncedUpTo)")
        }

        // No peer is connected.
        #expect(printed.all == [])
        try await ditto.close()
    }
}
