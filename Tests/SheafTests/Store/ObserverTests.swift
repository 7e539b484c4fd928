import Sheaf
import SheafTestSupport
import Testing

struct ObserverTests {
    /// The results of callbacks, in their order.
    private struct Told {
        let stream: AsyncStream<[String]>
        let teller: AsyncStream<[String]>.Continuation

        init() {
            (stream, teller) = AsyncStream.makeStream()
        }

        func tell(_ result: QueryResult) throws {
            teller.yield(try result.items.map { try $0.jsonString })
        }
    }

    @Test func `the first result comes at once, and one after each commit that changes it`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
        let told = Told()
        let observer = try store.observe("SELECT * FROM t WHERE n > :n ORDER BY n DESC", ["n": 1]) {
            try told.tell($0)
        }
        var results = told.stream.makeAsyncIterator()
        #expect(await results.next() == [#"{"_id":2,"n":2}"#])
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 3, 'n': 1})")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 4, 'n': 4})")
        #expect(await results.next() == [#"{"_id":4,"n":4}"#, #"{"_id":2,"n":2}"#])
        try await store.execute("UPDATE t SET n = 9 WHERE _id = 2")
        #expect(await results.next() == [#"{"_id":2,"n":9}"#, #"{"_id":4,"n":4}"#])
        try await store.execute("DELETE FROM t WHERE _id = 2")
        #expect(await results.next() == [#"{"_id":4,"n":4}"#])
        #expect(store.observers.count == 1)
        observer.cancel()
        #expect(store.observers.isEmpty)
        try await store.close()
    }

    @Test func `a sequence gives the newest result, and ends with the store`() async throws {
        let store = try await Store.inMemory()
        var results = try store.observe("SELECT COUNT(*) AS n FROM t").makeAsyncIterator()
        #expect(try await results.next()?.items[0].jsonString == #"{"n":0}"#)
        var last: QueryResult?
        for number in 1...20 {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
        }
        while try last?.items[0].jsonString != #"{"n":20}"# { last = try await results.next() }
        #expect(last?.commitID == 20)
        try await store.close()
        #expect(try await results.next() == nil)
    }

    @Test func `nothing more comes until the next is asked for`() async throws {
        let store = try await Store.inMemory()
        let (stream, teller) = AsyncStream<(Int, @Sendable () -> Void)>.makeStream()
        try store.observe("SELECT * FROM t") { result, next in
            teller.yield((result.items.count, next))
        }
        // Who observes the same, and came later, has each result when the other one has it.
        let (others, other) = AsyncStream<Int>.makeStream()
        try store.observe("SELECT * FROM t") { other.yield($0.items.count) }
        var told = stream.makeAsyncIterator()
        let first = await told.next()
        #expect(first?.0 == 0)
        for number in 1...5 {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
        }
        for await count in others where count == 5 { break }
        first?.1()
        let second = await told.next()
        #expect(second?.0 == 5)
        second?.1()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 6})")
        let third = await told.next()
        #expect(third?.0 == 6)
        try await store.close()
    }

    @Test func `an observer that throws hears the next change`() async throws {
        struct Mishap: Error {}
        let store = try await Store.inMemory()
        let (stream, teller) = AsyncStream<Int>.makeStream()
        try store.observe("SELECT * FROM t") { result in
            teller.yield(result.items.count)
            throw Mishap()
        }
        var told = stream.makeAsyncIterator()
        #expect(await told.next() == 0)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        #expect(await told.next() == 1)
        try await store.close()
    }

    @Test func `what cannot be observed is refused when it is asked for`() async throws {
        let store = try await Store.inMemory()
        #expect(throws: StoreError.self) { try store.observe("DELETE FROM t") { _ in } }
        #expect(throws: StoreError.self) {
            try store.observe("SELECT * FROM system:nothing") { _ in }
        }
        #expect(throws: StoreError.self) {
            try store.observe("SELECT * FROM t WHERE a = :a") { _ in }
        }
        #expect(store.observers.isEmpty)
        try await store.close()
    }

    @Test func `those who observe the system are told from time to time`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "ALTER SYSTEM SET live_query_system_collection_refresh_interval = 1")
        var results = try store.observe("SELECT * FROM system:dual").makeAsyncIterator()
        for _ in 0..<5 { #expect(try await results.next()?.items.count == 1) }
        try await store.close()
    }
}
