import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// The lifetime of observers, and the changes between their results.
struct ObserverLifecycleTests {
    /// The row counts of the results that callbacks received.
    private struct ReceivedResults {
        let counts: AsyncStream<Int>
        let results: AsyncStream<Int>.Continuation

        init() {
            (counts, results) = AsyncStream.makeStream()
        }
    }

    private func insert(_ id: Int, into store: Store) async throws {
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(id)})")
    }

    @Test func `a store can be closed by a callback and then refuses observers`() async throws {
        let store = try await Store.inMemory()
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let observer = try store.observe("SELECT * FROM t") { [weak store] _ in
            Task {
                try await store?.close()
                continuation.yield()
            }
        }
        defer { observer.cancel() }
        var ends = stream.makeAsyncIterator()
        await ends.next()
        try await store.close()
        #expect(store.observers.isEmpty)
        let error = #expect(throws: StoreError.self) {
            try store.observe("SELECT * FROM t") { _ in }
        }
        #expect(error?.reason == .closed)
    }

    @Test func `a store closes while callbacks block`() async throws {
        let store = try await Store.inMemory()
        let gate = Monitor(false)
        let (begun, starter) = AsyncStream<Void>.makeStream()
        let observer = try store.observe("SELECT * FROM t") { _ in
            starter.yield()
            gate.wait { !$0 }
        }
        var starts = begun.makeAsyncIterator()
        await starts.next()
        try await store.close()
        #expect(observer.isCancelled)
        gate.withLock { $0 = true }
        gate.broadcast()
    }

    @Test func `a store that is dropped ends its observers and can be opened again`()
        async throws
    {
        let directory = TemporaryDirectory()
        for round in 0..<20 {
            var store: Store? = try await Store.open(at: directory.path("t.sheaf"))
            let received = ReceivedResults()
            // Some callbacks run while the store is released.
            let observer = try store?.observe("SELECT * FROM t") {
                received.results.yield($0.items.count)
            }
            var results = try store?.observe("SELECT * FROM t").makeAsyncIterator()
            var counts = received.counts.makeAsyncIterator()
            #expect(await counts.next() == round)
            try await store?.execute("INSERT INTO t DOCUMENTS ({'_id': \(round)})")
            store = nil
            while try await results?.next() != nil {}
            #expect(observer?.isCancelled == true)
        }
    }

    @Test func `the last reference to a store can be released in a callback`() async throws {
        for _ in 0..<50 {
            let (stream, continuation) = AsyncStream<Void>.makeStream()
            let cell = Mutex<Store?>(try await Store.inMemory())
            let store = cell.withLock { $0 }
            let observer = try store?.observe("SELECT * FROM t") { _ in
                cell.withLock { $0 = nil }
                continuation.yield()
            }
            defer { withExtendedLifetime(observer) {} }
            var ends = stream.makeAsyncIterator()
            await ends.next()
        }
    }

    @Test func `an observation that is dropped is canceled`() async throws {
        let store = try await Store.inMemory()
        do {
            let observation = try store.observe("SELECT * FROM t")
            #expect(store.observers.count == 1)
            for try await result in observation {
                #expect(result.items.isEmpty)
                break
            }
        }
        #expect(store.observers.isEmpty)
        let task = Task {
            for try await _ in try store.observe("SELECT * FROM t") {}
        }
        task.cancel()
        try await task.value
        #expect(store.observers.isEmpty)
        try await store.close()
    }

    @Test
    func `an error ends a sequence but not a callback observer`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO u DOCUMENTS ({'_id': 1, 'b': 1})")
        let query: DQL = "SELECT regexp_like('x', t.k) AS m FROM t JOIN u ON t._id = u.b"
        var results = try store.observe(query).makeAsyncIterator()
        #expect(try await results.next()?.items.count == 0)
        let received = ReceivedResults()
        let observer = try store.observe(query) { received.results.yield($0.items.count) }
        var counts = received.counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        // The pattern is invalid.
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'k': '('})")
        await #expect(throws: StoreError.self) { try await results.next() }
        #expect(try await results.next() == nil)
        #expect(store.observers.map(ObjectIdentifier.init) == [ObjectIdentifier(observer)])
        try await store.execute("UPDATE t SET k = 'x' WHERE _id = 1")
        #expect(await counts.next() == 1)
        try await store.close()
    }

    @Test func `rows beyond a limit are found after the index of the query is dropped`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute("CREATE INDEX i ON t (n)")
        for id in 1...5 {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(id), 'n': 7})")
        }
        var results = try store.observe("SELECT * FROM t WHERE n = 7 ORDER BY _id LIMIT 2")
            .makeAsyncIterator()
        #expect(try await results.next()?.items.count == 2)
        try await store.execute("DROP INDEX i ON t")
        try await store.execute("DELETE FROM t WHERE _id = 1")
        let ids = try await results.next()?.items.map { try $0["_id"] }
        #expect(ids == [2, 3])
        try await store.close()
    }

    @Test func `a result contains the changes since the previous delivered one`() async throws {
        let store = try await Store.inMemory()
        for id in 1...5 { try await insert(id, into: store) }
        var results = try store.observe("SELECT * FROM t ORDER BY n, _id").makeAsyncIterator()
        #expect(try await results.next()?.changes == nil)
        try await store.execute("DELETE FROM t WHERE _id = 2")
        #expect(try await results.next()?.changes == Diff(deletions: [1]))
        try await store.execute("UPDATE t SET n = 0 WHERE _id = 5")
        let moved = Diff(updates: [0], moves: [Diff.Move(from: 3, to: 0)])
        #expect(try await results.next()?.changes == moved)
        // The result of the first commit may be skipped.
        try await insert(7, into: store)
        try await insert(6, into: store)
        var rows = ["5", "1", "3", "4"]
        while rows.count < 6, let result = try await results.next(), let changes = result.changes {
            try rows.apply(changes) { try result.items[$0]["_id"]?.json ?? "" }
        }
        #expect(rows == ["5", "1", "3", "4", "6", "7"])
        try await store.close()
    }

    @Test func `an update without changes causes no result`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
        let received = ReceivedResults()
        let queries: [DQL] = [
            "SELECT * FROM t WHERE _id = 1", "SELECT n FROM t ORDER BY n DESC LIMIT 1",
            "SELECT SUM(n) AS n FROM t", "SELECT DISTINCT n FROM t",
            "SELECT a.n FROM t AS a JOIN t AS b ON a._id = b._id",
        ]
        var observers: [StoreObserver] = []
        defer { for observer in observers { observer.cancel() } }
        for query in queries {
            let observer = try store.observe(query) { received.results.yield($0.items.count) }
            observers.append(observer)
        }
        var counts = received.counts.makeAsyncIterator()
        for _ in queries { _ = await counts.next() }
        for _ in 0..<10 { try await store.execute("UPDATE t SET n = n") }
        // The next result is that of another collection.
        let observer = try store.observe("SELECT * FROM u") {
            received.results.yield(100 + $0.items.count)
        }
        defer { observer.cancel() }
        #expect(await counts.next() == 100)
        try await store.execute("INSERT INTO u DOCUMENTS ({'_id': 1})")
        #expect(await counts.next() == 101)
        try await store.close()
    }
}
