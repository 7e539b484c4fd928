import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Executed statements in `system:request_history` and `system:metrics`.
@Suite struct RequestLogTests {
    private func history(_ store: Store, _ columns: String) async throws -> [Object] {
        let result = try await store.execute(
            "SELECT \(part: DQL(verbatim: columns)) FROM system:request_history ORDER BY _id")
        return try result.items.map { try $0.value }
    }

    @Test func `the history keeps the configured number of statements in order`() async throws {
        var random = SeededRandom(seed: 3, "history")
        let store = try await Store.inMemory()
        let first = "INSERT INTO t DOCUMENTS ({'_id': 'a'})"
        try await store.execute(DQL(verbatim: first))
        var (texts, size) = ([first], 4_096)
        for round in 0..<300 {
            switch random.below(8) {
            case 0:
                // Removed entries stay removed when the size grows again.
                size = random.below(12)
                let text = "ALTER SYSTEM SET dql_request_history_size = \(size)"
                try await store.execute(DQL(verbatim: text))
                texts = (texts + [text]).suffix(size)
            case 1...3:
                let text = "SELECT * FROM t WHERE _id = 'a' AND \(round) > 0"
                try await store.execute(DQL(verbatim: text))
                texts = (texts + [text]).suffix(size)
            default:
                let text =
                    "SELECT * FROM t WHERE _id = '\(random.chance(1, in: 2) ? "a" : "\(round)")'"
                try await store.execute(DQL(verbatim: text))
                texts = (texts + [text]).suffix(size)
            }
            guard random.chance(1, in: 5) else { continue }
            let found = try await history(store, "text").map { $0["text"] }
            #expect(found == texts.map { .string($0) }, "round \(round), size \(size)")
            texts = (texts + ["SELECT text FROM system:request_history ORDER BY _id"]).suffix(size)
        }
        try await store.close()
    }

    @Test func `the history has the first 4,096 bytes of a statement`() async throws {
        let store = try await Store.inMemory()
        let start = "SELECT 1 AS v FROM system:dual WHERE "
        let texts = [4_095, 4_096, 4_097].map { length in
            let rest = String(repeating: "x", count: length - start.utf8.count - 8)
            return start + "'" + rest + "' != ''"
        }
        for text in texts { try await store.execute(DQL(verbatim: text)) }
        let found = try await history(store, "text").map { $0["text"] }
        #expect(texts.map(\.utf8.count) == [4_095, 4_096, 4_097])
        #expect(found == texts.map { .string(String($0.prefix(4_096))) })
        try await store.close()
    }

    @Test func `point lookups are recorded with their state, row count and start time`()
        async throws
    {
        let clock = FakeClock()
        var options = StoreOptions()
        options.storage.clock = clock.clock
        let store = try await Store.inMemory(options: options)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})")
        var starts: [Value] = []
        for id in ["a", "b", "a"] {
            clock.advance(milliseconds: 70)
            starts.append(.integer(Int64(clock.clock.wallMilliseconds())))
            try await store.execute("SELECT * FROM t WHERE _id = :id", ["id": id])
        }
        let rows = try await history(store, "state, resultCount, startTime, error").suffix(3)
        #expect(rows.map { $0["resultCount"] } == [1, 0, 1])
        #expect(rows.map { $0["state"] } == ["completed", "completed", "completed"])
        #expect(rows.map { $0["startTime"] } == starts)
        #expect(rows.allSatisfy { $0["error"] == nil })
        let metrics = try await store.execute(
            "SELECT name, value FROM system:metrics WHERE name IN ('requests', 'rows_returned')")
        // The rows of the history are counted, too.
        #expect(try metrics.items.map { try $0["value"] } == [6, 6])
        try await store.close()
    }

    @Test(arguments: [99, 100, 101] as [UInt64])
    func `start times follow a change of the wall clock within 100 ms`(
        milliseconds: UInt64
    ) async throws {
        let clock = FakeClock()
        var options = StoreOptions()
        options.storage.clock = clock.clock
        let store = try await Store.inMemory(options: options)
        try await store.execute("SELECT * FROM t WHERE _id = 'a'")
        let first = clock.clock.wallMilliseconds()
        clock.setWall(milliseconds: 5)
        clock.advance(milliseconds: milliseconds)
        try await store.execute("SELECT * FROM t WHERE _id = 'a'")
        let starts = try await history(store, "startTime").map { $0["startTime"] }
        let wall = milliseconds < 100 ? first + milliseconds : 5 + milliseconds
        #expect(starts.last == .integer(Int64(wall)))
        try await store.close()
    }

    /// Returns a store whose collection `system:hub` takes 30 ms to read, and has the running
    /// statements as its rows.
    private func slowStore() async throws -> Store {
        let clock = FakeClock()
        var options = StoreOptions()
        options.storage.clock = clock.clock
        options.storage.runsMaintenance = false
        let store = try await Store.inMemory(options: options)
        let queries = store.queries
        let listing = try Parser.parse(
            "SELECT text, state, resultCount, elapsedNanoseconds FROM system:active_requests")
        queries.registeredCollections.register("hub") { [weak queries] in
            clock.advance(milliseconds: 30)
            guard let queries, let found = try? queries.execute(listing) else { return [] }
            return found.items.compactMap { try? $0.object(found.names) }
        }
        return store
    }

    @Test func `a running statement is listed before later ones, with its time so far`()
        async throws
    {
        let store = try await slowStore()
        let rows = try await store.execute("SELECT * FROM system:hub").items.map { try $0.value }
        #expect(rows.map { $0["elapsedNanoseconds"] } == [30_000_000, 0])
        #expect(rows.map { $0["state"] } == ["running", "running"])
        #expect(rows.map { $0["resultCount"] } == [0, 0])
        #expect(rows.first?["text"] == "SELECT * FROM system:hub")
        let finished = try await history(store, "text, state, resultCount, elapsedNanoseconds")
        #expect(finished.count == 2)
        let own = finished.first { $0["text"] == "SELECT * FROM system:hub" }
        let last = try #require(own)
        #expect(last["elapsedNanoseconds"] == 30_000_000 && last["resultCount"] == 2)
        #expect(last["state"] == "completed")
        try await store.close()
    }

    @Test func `the metrics count statements, their rows, changes, failures and time`()
        async throws
    {
        let store = try await slowStore()
        func metrics() async throws -> [String: Int64] {
            var found: [String: Int64] = [:]
            for item in try await store.execute("SELECT * FROM system:metrics").items {
                let row = try item.value
                guard case .string(let name)? = row["name"],
                    case .integer(let value)? = row["value"]
                else { continue }
                #expect(row["_id"] == .string(name))
                found[name] = value
            }
            return found
        }
        let before = try await metrics()
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 1})")
        try await store.execute("SELECT * FROM system:hub")
        await #expect(throws: StoreError.self) {
            try await store.execute("SELECT * FROM system:nothing")
        }
        await #expect(throws: StoreError.self) { try await store.execute("SELEC") }
        try await store.execute("UPDATE t SET n = 2 WHERE n = 1")
        try await store.execute("DELETE FROM t WHERE _id = 1")
        try await store.execute("DELETE FROM t WHERE _id = 1")
        let after = try await metrics()
        let changes = after.merging(before) { $0 - $1 }
        #expect(
            changes == [
                // The statement of `system:hub` runs another one, and both metrics are statements.
                "requests": 8, "rows_returned": 8 + 2 + 2, "requests_failed": 1,
                "documents_mutated": 5, "statements_parsed": 6, "observers_failed": 0,
                "request_nanoseconds": 30_000_000, "requests_active": 0,
            ])
        #expect(after["requests_active"] == 1)
        try await store.close()
    }
}
