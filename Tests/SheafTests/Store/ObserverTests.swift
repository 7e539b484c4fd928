import Sheaf
import SheafStatements
import SheafTestSupport
import Testing

struct ObserverTests {
    /// The results of callbacks in order.
    private struct ReceivedResults {
        let stream: AsyncStream<[String]>
        let results: AsyncStream<[String]>.Continuation

        init() {
            (stream, results) = AsyncStream.makeStream()
        }

        func record(_ result: QueryResult) throws {
            results.yield(try result.items.map { try $0.jsonString })
        }
    }

    @Test func `an observer gets a first result, and another after each commit that changes it`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
        let received = ReceivedResults()
        let observer = try store.observe("SELECT * FROM t WHERE n > :n ORDER BY n DESC", ["n": 1]) {
            try received.record($0)
        }
        var results = received.stream.makeAsyncIterator()
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

    @Test func `a sequence returns the newest result and ends with the store`() async throws {
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

    @Test func `no result is delivered before the next one is requested`() async throws {
        let store = try await Store.inMemory()
        let (stream, continuation) = AsyncStream<(Int, @Sendable () -> Void)>.makeStream()
        let observer = try store.observe("SELECT * FROM t") { result, next in
            continuation.yield((result.items.count, next))
        }
        defer { observer.cancel() }
        // A later observer of the same query gets each result after the first observer.
        let (others, other) = AsyncStream<Int>.makeStream()
        let otherObserver = try store.observe("SELECT * FROM t") { other.yield($0.items.count) }
        defer { otherObserver.cancel() }
        var received = stream.makeAsyncIterator()
        let first = await received.next()
        #expect(first?.0 == 0)
        for number in 1...5 {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
        }
        for await count in others where count == 5 { break }
        first?.1()
        let second = await received.next()
        #expect(second?.0 == 5)
        second?.1()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 6})")
        let third = await received.next()
        #expect(third?.0 == 6)
        try await store.close()
    }

    @Test func `an observer that throws gets the next change`() async throws {
        struct TestError: Error {}
        let store = try await Store.inMemory()
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        let observer = try store.observe("SELECT * FROM t") { result in
            continuation.yield(result.items.count)
            throw TestError()
        }
        defer { observer.cancel() }
        var received = stream.makeAsyncIterator()
        #expect(await received.next() == 0)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        #expect(await received.next() == 1)
        try await store.close()
    }

    @Test func `a statement that cannot be observed is refused immediately`() async throws {
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

    @Test func `observers of system collections get results periodically`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "ALTER SYSTEM SET live_query_system_collection_refresh_interval = 1")
        var results = try store.observe("SELECT * FROM system:dual").makeAsyncIterator()
        for _ in 0..<5 { #expect(try await results.next()?.items.count == 1) }
        try await store.close()
    }
}
