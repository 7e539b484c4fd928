import Sheaf
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// What callbacks can do wrong, and what that must not do to others.
struct ObserverFaultTests {
    private struct Mishap: Error {}

    /// Says what callbacks have been told.
    private struct Told {
        let counts: AsyncStream<Int>
        let teller: AsyncStream<Int>.Continuation

        init() {
            (counts, teller) = AsyncStream.makeStream()
        }
    }

    private func insert(_ id: Int, into store: Store) async throws {
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(id)})")
    }

    @Test func `callbacks that block keep nobody else waiting, and get the newest result`()
        async throws
    {
        let store = try await Store.inMemory()
        let gate = Monitor(false)
        let (begun, starter) = AsyncStream<Void>.makeStream()
        let late = Told()
        // More than the cores of the machines that run this.
        let blocked = 16
        for _ in 0..<blocked {
            let isFirst = Atomic(true)
            try store.observe("SELECT * FROM t") { result in
                if isFirst.exchange(false, ordering: .relaxed) {
                    starter.yield()
                    gate.wait { !$0 }
                } else {
                    late.teller.yield(result.items.count)
                }
            }
        }
        var starts = begun.makeAsyncIterator()
        for _ in 0..<blocked { await starts.next() }
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        let told = Told()
        try store.observe("SELECT * FROM t") { told.teller.yield($0.items.count) }
        var counts = told.counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        #expect(try await others.next()?.items.count == 0)
        for id in 1...20 {
            try await insert(id, into: store)
            #expect(await counts.next() == id)
            #expect(try await others.next()?.items.count == id)
        }
        gate.withLock { $0 = true }
        gate.broadcast()
        var lateCounts = late.counts.makeAsyncIterator()
        // One result each, and the newest: none of those between was kept.
        for _ in 0..<blocked { #expect(await lateCounts.next() == 20) }
        try await store.close()
    }

    @Test func `what a callback throws is counted`() async throws {
        let store = try await Store.inMemory()
        let told = Told()
        try store.observe("SELECT * FROM t") { result in
            told.teller.yield(result.items.count)
            throw Mishap()
        }
        var counts = told.counts.makeAsyncIterator()
        for id in 0..<5 {
            #expect(await counts.next() == id)
            try await insert(id, into: store)
        }
        #expect(await counts.next() == 5)
        let failures = try await store.execute(
            "SELECT value FROM system:metrics WHERE name = 'observers_failed'"
        ).items[0]["value"]
        // The last one may not have been counted yet.
        #expect(failures == 5 || failures == 6)
        try await store.close()
    }

    @Test func `an observer can be cancelled in its callback, and again`() async throws {
        let store = try await Store.inMemory()
        let told = Told()
        let cell = Mutex<Observer?>(nil)
        let observer = try store.observe("SELECT * FROM t") { result in
            told.teller.yield(result.items.count)
            if result.items.count == 1 { cell.withLock { $0 }?.cancel() }
        }
        cell.withLock { $0 = observer }
        var counts = told.counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        try await insert(1, into: store)
        #expect(await counts.next() == 1)
        try await insert(2, into: store)
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 2)
        observer.cancel()
        #expect(observer.isCancelled)
        told.teller.finish()
        #expect(await counts.next() == nil)
        try await store.close()
    }

    @Test func `observers cancelled by others meanwhile hear nothing afterwards`() async throws {
        let store = try await Store.inMemory()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for id in 0..<200 { try await insert(id, into: store) }
            }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<50 {
                        let isCancelled = Atomic(false)
                        let calls = Atomic(0)
                        let (stream, teller) = AsyncStream<Void>.makeStream()
                        let observer = try store.observe("SELECT * FROM t") { _ in
                            if isCancelled.load(ordering: .acquiring) {
                                calls.add(1, ordering: .relaxed)
                            }
                            teller.yield()
                        }
                        var told = stream.makeAsyncIterator()
                        await told.next()
                        async let other: Void = observer.cancel()
                        observer.cancel()
                        isCancelled.store(true, ordering: .releasing)
                        await other
                        // A round trip of another observer: who was to be told has been told.
                        var later = try store.observe("SELECT * FROM t").makeAsyncIterator()
                        _ = try await later.next()
                        // One that was about to begin may look at the mark after it was set.
                        #expect(calls.load(ordering: .relaxed) <= 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.observers.isEmpty)
        try await store.close()
    }

    @Test func `a callback can observe`() async throws {
        let store = try await Store.inMemory()
        let told = Told()
        let depth = Atomic(0)
        @Sendable func observe(_ store: Store) throws {
            try store.observe("SELECT * FROM t") { [weak store] result in
                told.teller.yield(result.items.count)
                let isFirst = depth.add(1, ordering: .relaxed).newValue <= 10
                if isFirst, let store { try observe(store) }
            }
        }
        try observe(store)
        var counts = told.counts.makeAsyncIterator()
        for _ in 0..<11 { #expect(await counts.next() == 0) }
        #expect(store.observers.count == 11)
        try await insert(1, into: store)
        for _ in 0..<11 { #expect(await counts.next() == 1) }
        try await store.close()
    }

    @Test func `an observer that writes to what it observes hears of that and no more`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 0})")
        let (stream, teller) = AsyncStream<Int64>.makeStream()
        try store.observe("SELECT n FROM t") { [weak store] result in
            guard case .integer(let number)? = try result.items[0]["n"] else { return }
            teller.yield(number)
            guard number < 50 else { return }
            Task { try await store?.execute("UPDATE t SET n = n + 1 WHERE n < 50") }
        }
        var calls = 0
        for await number in stream {
            calls += 1
            if number == 50 { break }
        }
        #expect(calls <= 51)
        // It goes on with what others write.
        try await store.execute("UPDATE t SET n = 60")
        for await number in stream where number == 60 { break }
        try await store.close()
    }

    @Test func `a store can be closed in a callback, and observes nothing afterwards`()
        async throws
    {
        let store = try await Store.inMemory()
        let (stream, teller) = AsyncStream<Void>.makeStream()
        try store.observe("SELECT * FROM t") { [weak store] _ in
            Task {
                try await store?.close()
                teller.yield()
            }
        }
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
            let told = Told()
            // Some of them are called just then.
            let observer = try store?.observe("SELECT * FROM t") {
                told.teller.yield($0.items.count)
            }
            var results = try store?.observe("SELECT * FROM t").makeAsyncIterator()
            var counts = told.counts.makeAsyncIterator()
            #expect(await counts.next() == round)
            try await store?.execute("INSERT INTO t DOCUMENTS ({'_id': \(round)})")
            store = nil
            while try await results?.next() != nil {}
            #expect(observer?.isCancelled == true)
        }
    }

    @Test func `the last reference to a store can go in a callback`() async throws {
        for _ in 0..<50 {
            let (stream, teller) = AsyncStream<Void>.makeStream()
            let cell = Mutex<Store?>(try await Store.inMemory())
            let store = cell.withLock { $0 }
            try store?.observe("SELECT * FROM t") { _ in
                cell.withLock { $0 = nil }
                teller.yield()
            }
            var ends = stream.makeAsyncIterator()
            await ends.next()
        }
    }

    @Test func `an observation that is dropped is cancelled`() async throws {
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

    @Test func `rows behind a limit are found when the index is gone by which they were`()
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

    @Test func `results say what has changed since the one before that was given`() async throws {
        let store = try await Store.inMemory()
        for id in 1...5 { try await insert(id, into: store) }
        var results = try store.observe("SELECT * FROM t ORDER BY n, _id").makeAsyncIterator()
        #expect(try await results.next()?.changes == nil)
        try await store.execute("DELETE FROM t WHERE _id = 2")
        #expect(try await results.next()?.changes == Diff(deletions: [1]))
        try await store.execute("UPDATE t SET n = 0 WHERE _id = 5")
        let moved = Diff(updates: [0], moves: [Diff.Move(from: 3, to: 0)])
        #expect(try await results.next()?.changes == moved)
        // Two commits, of which the first may be missed.
        try await insert(7, into: store)
        try await insert(6, into: store)
        var rows = ["5", "1", "3", "4"]
        while rows.count < 6, let result = try await results.next(), let changes = result.changes {
            try rows.apply(changes) { try result.items[$0]["_id"]?.json ?? "" }
        }
        #expect(rows == ["5", "1", "3", "4", "6", "7"])
        try await store.close()
    }

    @Test func `what an update leaves as it was is told to nobody`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
        let told = Told()
        let queries: [Query] = [
            "SELECT * FROM t WHERE _id = 1", "SELECT n FROM t ORDER BY n DESC LIMIT 1",
            "SELECT SUM(n) AS n FROM t", "SELECT DISTINCT n FROM t",
            "SELECT a.n FROM t AS a JOIN t AS b ON a._id = b._id",
        ]
        for query in queries {
            try store.observe(query) { told.teller.yield($0.items.count) }
        }
        var counts = told.counts.makeAsyncIterator()
        for _ in queries { _ = await counts.next() }
        for _ in 0..<10 { try await store.execute("UPDATE t SET n = n") }
        // What comes next is of another document.
        try store.observe("SELECT * FROM u") { told.teller.yield(100 + $0.items.count) }
        #expect(await counts.next() == 100)
        try await store.execute("INSERT INTO u DOCUMENTS ({'_id': 1})")
        #expect(await counts.next() == 101)
        try await store.close()
    }
}
