import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The results that a schedule of observers computes, and the time that they take.
struct ObserverWorkTests {
    private let store: DispatchedStore

    init() throws {
        store = try DispatchedStore()
    }

    /// The number of results that a schedule has computed, in either way.
    private func count(_ schedule: ObserverSchedule) -> Int {
        schedule.tally.rerun + schedule.tally.maintained
    }

    @Test func `a changed parameter computes a result once, and other commits none`() throws {
        try store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        var schedule = ObserverSchedule(store.queries)
        let query: DQL = "SELECT * FROM cars WHERE n > 0"
        let first = schedule.dispatch(adding: [try store.newObserver(query)])
        #expect(try first.map { try $0.outcome.get().items.count } == [1])
        var known = count(schedule)
        for isStrict in [true, false] {
            try store.execute(DQL(verbatim: "ALTER SYSTEM SET dql_strict_mode = \(isStrict)"))
            _ = schedule.dispatch()
            #expect(count(schedule) == known + 1)
            known = count(schedule)
            for number in 0..<3 {
                try store.execute(DQL(verbatim: "INSERT INTO boats DOCUMENTS ({'n': \(number)})"))
                let deliveries = schedule.dispatch()
                #expect(deliveries.isEmpty)
            }
            #expect(count(schedule) == known)
        }
        try store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'n': 1})")
        let last = schedule.dispatch()
        #expect(try last.map { try $0.outcome.get().items.count } == [2])
        #expect(count(schedule) == known + 1)
    }

    @Test func `a failed statement runs again after each commit until it succeeds, and not longer`()
        throws
    {
        try store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'k': 'x'})")
        var schedule = ObserverSchedule(store.queries)
        let query: DQL = "SELECT regexp_like('x', k) AS m FROM cars"
        let first = schedule.dispatch(adding: [try store.newObserver(query)])
        #expect(try first.map { try $0.outcome.get().items.count } == [1])
        // The pattern is invalid.
        try store.execute("UPDATE cars SET k = '(' WHERE _id = 'a'")
        let failed = schedule.dispatch()
        #expect(failed.count == 1)
        #expect(throws: StoreError.self) { try failed.first?.outcome.get() }
        for number in 0..<3 {
            let known = count(schedule)
            try store.execute(DQL(verbatim: "INSERT INTO boats DOCUMENTS ({'n': \(number)})"))
            let repeated = schedule.dispatch()
            #expect(repeated.isEmpty)
            #expect(count(schedule) == known + 1)
        }
        try store.execute("UPDATE cars SET k = 'y' WHERE _id = 'a'")
        let last = schedule.dispatch()
        #expect(try last.map { try $0.outcome.get().items.count } == [1])
        let known = count(schedule)
        for number in 3..<6 {
            try store.execute(DQL(verbatim: "INSERT INTO boats DOCUMENTS ({'n': \(number)})"))
            let deliveries = schedule.dispatch()
            #expect(deliveries.isEmpty)
        }
        #expect(count(schedule) == known)
    }

    @Test func `the row of an observer has the times of its results in microseconds`() async throws
    {
        let clock = FakeClock()
        var options = StoreOptions()
        options.storage.clock = clock.clock
        let store = try await Store.inMemory(options: options)
        store.queries.registeredCollections.register("hub") {
            // Each reading takes 40 ms.
            clock.advance(milliseconds: 40)
            return [["_id": 1]]
        }
        let (results, continuation) = AsyncStream.makeStream(of: Int.self)
        let observer = try store.observe("SELECT _id FROM system:hub") { result in
            continuation.yield(result.items.count)
        }
        var iterator = results.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        let rows = try await store.execute(
            "SELECT microseconds, lastMicroseconds, runs FROM system:observers")
        let row = try #require(rows.items.first).value
        guard case .integer(let total)? = row["microseconds"],
            case .integer(let last)? = row["lastMicroseconds"],
            case .integer(let runs)? = row["runs"]
        else {
            Issue.record("\(row)")
            return
        }
        #expect(last > 0 && last % 40_000 == 0)
        #expect(runs > 0 && total == runs * last)
        observer.cancel()
        try await store.close()
    }
}
