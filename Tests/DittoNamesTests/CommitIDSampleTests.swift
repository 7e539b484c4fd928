// swift-format-ignore-file: the samples stay as they were written.

import DittoNames
import Testing

/// The samples that deal with commit IDs, as the reference documentation has them.
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

    @Test func `a commit is compared with what peers have`() async throws {
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

        // Nobody is connected to.
        #expect(printed.all == [])
        try await ditto.close()
    }

    @Test func `a transaction has its commit ID when it is over`() async throws {
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
}
