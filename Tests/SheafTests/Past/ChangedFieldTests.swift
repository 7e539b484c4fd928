import Sheaf
import Testing

/// The changed fields in `system:history`, and the changed documents that `system:log` counts.
@Suite struct ChangedFieldTests {
    private func rows(_ store: Store, _ query: DQL) async throws -> [String] {
        try await store.execute(query).items.map { try $0.jsonString }
    }

    @Test func `an update of an initial document lists only the fields that it wrote`() async throws
    {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO cars INITIAL DOCUMENTS ({'_id': 'a', 'color': 'red', 'mileage': 1})")
        try await store.execute("UPDATE cars SET color = 'blue' WHERE _id = 'a'")
        try await store.execute("UPDATE cars SET mileage = 2 WHERE _id = 'a'")
        #expect(
            try await rows(store, "SELECT action, fields FROM system:history") == [
                #"{"action":"insert","fields":["color","mileage"]}"#,
                #"{"action":"update","fields":["color"]}"#,
                #"{"action":"update","fields":["mileage"]}"#,
            ])
        try await store.close()
    }

    @Test func `a commit counts as many documents as it has changes in the history`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'}), ({'_id': 'b'})")
        try await store.execute("UPDATE cars SET color = 'blue'")
        try await store.execute("DELETE FROM cars WHERE _id = 'a'")
        try await store.execute("EVICT FROM cars WHERE _id = 'b'")
        try await store.execute("CREATE INDEX by_color ON cars (color)")
        try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO cars DOCUMENTS ({'_id': 'c'})")
            try await transaction.execute("EVICT FROM cars WHERE _id = 'c'")
            try await transaction.execute("INSERT INTO cars DOCUMENTS ({'_id': 'c'})")
        }
        let counted = try await rows(
            store, "SELECT commit, documents FROM system:log WHERE documents > 0")
        let listed = try await rows(
            store, "SELECT commit, COUNT(*) AS documents FROM system:history GROUP BY commit")
        #expect(counted == listed && counted.count == 5)
        let sites = try await rows(
            store, "SELECT DISTINCT site FROM system:log WHERE documents > 0")
        #expect(sites == (try await rows(store, "SELECT DISTINCT site FROM system:history")))
        try await store.close()
    }
}
