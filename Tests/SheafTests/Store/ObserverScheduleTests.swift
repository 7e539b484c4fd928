import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the observers that a schedule serves after a commit, and of what it counts for them.
struct ObserverScheduleTests {
    private let store: DispatchedStore

    init() throws {
        store = try DispatchedStore()
        for collection in ["cars", "boats"] { try insert(collection, "a") }
    }

    private func insert(_ collection: String, _ id: String) throws {
        try store.execute(
            DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': '\(id)', 'k': 'x'})"))
    }

    /// Returns an observer that may have missed this many commits after the newest one.
    private func newObserver(
        _ query: DQL, _ number: UInt64, missing count: UInt64 = 0
    ) throws -> NewObserver {
        let commit = store.queries.documents.startFeed()
        return NewObserver(
            ObserverRegistration(unattended: query, number: number),
            try store.queries.statement(query), [:], missedThrough: commit + count)
    }

    private func numbers(_ deliveries: [ObserverSchedule.Delivery]) -> [UInt64] {
        deliveries.map { $0.observer.number }
    }

    /// The number of results that a schedule has computed, in either way.
    private func count(_ schedule: ObserverSchedule) -> Int {
        schedule.tally.rerun + schedule.tally.maintained
    }

    @Test func `a commit reaches the observers of its collection once, and before new ones`() throws
    {
        var schedule = ObserverSchedule(store.queries)
        let observers = [
            try newObserver("SELECT * FROM cars", 1), try newObserver("SELECT * FROM boats", 2),
            try newObserver("SELECT COUNT(*) AS n FROM cars", 3),
        ]
        let first = schedule.dispatch(adding: observers)
        #expect(numbers(first) == [1, 2, 3])
        #expect(count(schedule) == 3 && schedule.tally.rerun == 3)
        try insert("boats", "b")
        let boats = schedule.dispatch()
        #expect(numbers(boats) == [2])
        #expect(count(schedule) == 4)
        for id in ["b", "c"] { try insert("cars", id) }
        let added = [try newObserver("SELECT * FROM cars", 4)]
        let cars = schedule.dispatch(adding: added)
        #expect(numbers(cars).prefix(2).sorted() == [1, 3])
        #expect(numbers(cars).last == 4 && cars.count == 3)
        #expect(count(schedule) == 7)
        let counts = try cars.map { try $0.outcome.get().items.count }
        #expect(counts.sorted() == [1, 3, 3])
        let nothing = schedule.dispatch()
        #expect(nothing.isEmpty && count(schedule) == 7)
    }

    @Test func `a removed or canceled observer has no further results`() throws {
        var schedule = ObserverSchedule(store.queries)
        let canceled = try newObserver("SELECT * FROM cars", 1)
        canceled.observer.cancel()
        let observers = [
            canceled, try newObserver("SELECT * FROM cars", 2),
            try newObserver("SELECT * FROM cars", 3),
        ]
        let first = schedule.dispatch(adding: observers)
        #expect(numbers(first) == [2, 3])
        schedule.remove([2, 99])
        try insert("cars", "b")
        let second = schedule.dispatch()
        #expect(numbers(second) == [3] && count(schedule) == 3)
        schedule.remove([3])
        try insert("cars", "c")
        let third = schedule.dispatch()
        #expect(third.isEmpty && count(schedule) == 3)
    }

    @Test func `a removed observer whose statement fails is not run again`() throws {
        var schedule = ObserverSchedule(store.queries)
        let query: DQL = "SELECT regexp_like('x', k) AS m FROM cars"
        let observers = [try newObserver(query, 1), try newObserver(query, 2)]
        _ = schedule.dispatch(adding: observers)
        try store.execute("UPDATE cars SET k = '(' WHERE _id = 'a'")
        let failed = schedule.dispatch()
        #expect(numbers(failed).sorted() == [1, 2])
        schedule.remove([1])
        let known = count(schedule)
        try insert("boats", "b")
        let repeated = schedule.dispatch()
        #expect(repeated.isEmpty && count(schedule) == known + 1)
        #expect(observers[0].observer.statistics.runCount == 2)
        #expect(observers[1].observer.statistics.runCount == 3)
    }

    @Test(arguments: [0, 1, 2] as [UInt64])
    func `an observer that may have missed commits runs again after the last of them`(
        _ missed: UInt64
    ) throws {
        for isRemoved in [false, true] {
            let store = try ObserverScheduleTests()
            var schedule = ObserverSchedule(store.store.queries)
            let observer = try store.newObserver("SELECT * FROM cars", 1, missing: missed)
            let first = schedule.dispatch(adding: [observer])
            #expect(numbers(first) == [1])
            if isRemoved { schedule.remove([1]) }
            for number: UInt64 in 1...3 {
                let known = count(schedule)
                try store.insert("boats", "boat \(number)")
                let deliveries = schedule.dispatch()
                #expect(deliveries.isEmpty)
                let runs = number == missed && !isRemoved ? 1 : 0
                #expect(count(schedule) == known + runs, "commit \(number)")
            }
        }
    }

    @Test func `the periodic results end with the last observer of a system collection`() throws {
        var schedule = ObserverSchedule(store.queries)
        let observers = [
            try newObserver("SELECT * FROM system:dual", 1),
            try newObserver("SELECT * FROM system:dual", 2),
            try newObserver("SELECT * FROM cars", 3),
        ]
        _ = schedule.dispatch(adding: observers)
        let queries = store.queries
        func tick(_ time: UInt64) -> [UInt64] {
            numbers(schedule.tick(time) { queries.reader() })
        }
        #expect(schedule.deadline == nil)
        #expect(tick(1_000) == [])
        #expect(tick(500_001_000) == [1, 2])
        schedule.remove([1])
        #expect(schedule.deadline == 1_000_001_000)
        #expect(tick(1_000_001_000) == [2])
        schedule.remove([2])
        #expect(schedule.deadline == nil)
        #expect(tick(2_000_000_000) == [])
        #expect(schedule.deadline == nil)
    }

    @Test func `an observer counts its results, their rows, and its last error`() throws {
        var schedule = ObserverSchedule(store.queries)
        let failing = try newObserver("SELECT regexp_like('x', k) AS m FROM cars", 1)
        let plain = try newObserver("SELECT * FROM cars", 2)
        _ = schedule.dispatch(adding: [failing, plain])
        var found = plain.observer.statistics
        #expect(found.runCount == 1 && found.updateCount == 0 && found.rowCount == 1)
        #expect(!found.isIncremental && found.error == nil)
        try insert("cars", "b")
        _ = schedule.dispatch()
        found = plain.observer.statistics
        #expect(found.runCount == 1 && found.updateCount == 1 && found.rowCount == 2)
        #expect(found.isIncremental && found.error == nil)
        #expect(found.nanoseconds == 0 && found.lastNanoseconds == 0)
        #expect(schedule.tally.rerun + schedule.tally.maintained == 4)

        try store.execute("UPDATE cars SET k = '(' WHERE _id = 'a'")
        let deliveries = schedule.dispatch()
        let error = #expect(throws: StoreError.self) {
            try deliveries.first { $0.observer.number == 1 }?.outcome.get()
        }
        found = failing.observer.statistics
        #expect(found.error != nil && found.error == error?.message)
        // The rows are those of the last result.
        #expect(found.rowCount == 2)
        try store.execute("UPDATE cars SET k = 'x' WHERE _id = 'a'")
        let last = schedule.dispatch()
        #expect(last.contains { $0.observer.number == 1 })
        found = failing.observer.statistics
        #expect(found.error == nil && found.rowCount == 2)
        #expect(found.runCount + found.updateCount == 4)
    }
}
