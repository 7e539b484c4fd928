import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// Observers that last longer than the request timeout.
struct ObserverTimeTests {
    private let store: DispatchedStore

    init() throws {
        store = try DispatchedStore()
    }

    /// Inserts a document whose evaluation takes enough steps to check the clock.
    private func insert(_ id: String) throws {
        let numbers = Value.array((0..<5_000).map { .integer($0) })
        try store.execute(
            "INSERT INTO orders DOCUMENTS (:order)",
            ["order": ["_id": .string(id), "numbers": numbers] as Value])
    }

    private static let watching: [DQL] = [
        "SELECT * FROM orders WHERE ANY v IN numbers SATISFIES v = 4999 END",
        "SELECT _id, ARRAY v FOR v IN numbers WHEN v > 4998 END AS last FROM orders",
        "SELECT * FROM orders ORDER BY ARRAY v FOR v IN numbers WHEN v > 4998 END, _id",
        "SELECT COUNT(*) AS n FROM orders WHERE ANY v IN numbers SATISFIES v = 4999 END",
    ]

    @Test func `an observer may last longer than the request timeout`() throws {
        for query in Self.watching {
            let test = try ObserverTimeTests()
            try test.store.execute("ALTER SYSTEM SET dql_request_timeout_seconds = 1")
            try test.insert("a")
            var schedule = ObserverSchedule(test.store.queries)
            let first = schedule.dispatch(adding: [try test.store.newObserver(query)])
            #expect(try first.first?.outcome.get().items.count == 1, "\(query.text)")
            let isKept = !query.text.contains("COUNT")
            for id in ["b", "c"] {
                test.store.clock.advance(milliseconds: 5_000)
                try test.insert(id)
                let rerun = schedule.tally.rerun
                let next = schedule.dispatch()
                try #require(next.count == 1, "\(query.text)")
                let items = try next[0].outcome.get().items
                let count = try items.first?.value["n"] == .integer(id == "b" ? 2 : 3)
                #expect(isKept ? items.count == (id == "b" ? 2 : 3) : count, "\(query.text)")
                // An incremental view is updated from the changed document alone.
                #expect(schedule.tally.rerun - rerun == (isKept ? 0 : 1), "\(query.text)")
            }
        }
    }

    /// Returns a schedule with an observer of a system collection, which has its first result.
    private func systemSchedule() throws -> ObserverSchedule {
        var schedule = ObserverSchedule(store.queries)
        let query: DQL = "SELECT * FROM system:dual"
        let first = schedule.dispatch(adding: [try store.newObserver(query)])
        #expect(try first.map { try $0.outcome.get().items.count } == [1])
        return schedule
    }

    @Test(arguments: [500, 1, 86_400_000, 31_622_400_000, 31_622_400_001, .max] as [Int64])
    func `an observed system collection has a result after each interval, and none before`(
        milliseconds: Int64
    ) throws {
        // The default is 500 ms.
        if milliseconds != 500 {
            try store.execute(
                "ALTER SYSTEM SET live_query_system_collection_refresh_interval = :ms",
                ["ms": milliseconds])
        }
        var schedule = try systemSchedule()
        let queries = store.queries
        func count(at time: UInt64) -> Int {
            schedule.tick(time) { queries.reader() }.count
        }
        // The interval is at most 366 days.
        let interval = UInt64(min(milliseconds, 366 * 86_400_000)) * 1_000_000
        let start: UInt64 = 7_000_000_001
        #expect(count(at: start) == 0)
        #expect(schedule.deadline == start + interval)
        #expect(count(at: start + interval - 1) == 0)
        #expect(count(at: start + interval) == 1)
        #expect(schedule.deadline == start + 2 * interval)
        #expect(count(at: start + 2 * interval - 1) == 0)
        // A late result postpones the next one.
        #expect(count(at: start + 2 * interval + 5) == 1)
        #expect(count(at: start + 3 * interval + 4) == 0)
        #expect(count(at: start + 3 * interval + 5) == 1)
    }

    @Test func `a changed interval begins at the next check of the time`() throws {
        var schedule = try systemSchedule()
        let queries = store.queries
        func count(at time: UInt64) -> Int {
            schedule.tick(time) { queries.reader() }.count
        }
        #expect(count(at: 1_000) == 0)
        try store.execute("ALTER SYSTEM SET live_query_system_collection_refresh_interval = 2")
        let deliveries = schedule.dispatch()
        #expect(deliveries.isEmpty && schedule.deadline == nil)
        #expect(count(at: 2_000) == 0)
        #expect(schedule.deadline == 2_002_000)
        #expect(count(at: 2_001_999) == 0)
        #expect(count(at: 2_002_000) == 1)
    }
}
