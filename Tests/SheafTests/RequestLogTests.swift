import Sheaf
import SheafDocument
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
}
