import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Misbehaving callbacks, and their effects on other observers.
struct ObserverFaultTests {
    private struct TestError: Error {}

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

    @Test func `blocked callbacks delay no other observers and then get the newest result`()
        async throws
    {
        let store = try await Store.inMemory()
        let gate = Monitor(false)
        let (begun, starter) = AsyncStream<Void>.makeStream()
        let late = ReceivedResults()
        // This is more than the number of cores of most machines.
        let blocked = 16
        var observers: [StoreObserver] = []
        defer { for observer in observers { observer.cancel() } }
        for _ in 0..<blocked {
            let isFirst = Atomic(true)
            let observer = try store.observe("SELECT * FROM t") { result in
                if isFirst.exchange(false, ordering: .relaxed) {
                    starter.yield()
                    gate.wait { !$0 }
                } else {
                    late.results.yield(result.items.count)
                }
            }
            observers.append(observer)
        }
        var starts = begun.makeAsyncIterator()
        for _ in 0..<blocked { await starts.next() }
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        let received = ReceivedResults()
        let observer = try store.observe("SELECT * FROM t") {
            received.results.yield($0.items.count)
        }
        defer { observer.cancel() }
        var counts = received.counts.makeAsyncIterator()
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
        // Each callback gets only the newest result.
        for _ in 0..<blocked { #expect(await lateCounts.next() == 20) }
        try await store.close()
    }

    @Test func `callbacks beyond 64 blocked ones wait and then get the newest result`()
        async throws
    {
        let store = try await Store.inMemory()
        let gate = Monitor(0)  // The number of callbacks that may continue.
        let (begun, starter) = AsyncStream<Void>.makeStream()
        let late = ReceivedResults()
        // The limit is in `Limits.md`.
        let limit = 64
        var observers: [StoreObserver] = []
        for number in 1...limit {
            let isFirst = Atomic(true)
            let observer = try store.observe("SELECT * FROM t") { result in
                if isFirst.exchange(false, ordering: .relaxed) {
                    starter.yield()
                    gate.wait { $0 < number }
                } else {
                    late.results.yield(result.items.count)
                }
            }
            observers.append(observer)
        }
        var starts = begun.makeAsyncIterator()
        for _ in 0..<limit { await starts.next() }
        let calls = Atomic(0)
        let waiting = (0..<2).map { _ in ReceivedResults() }
        for received in waiting {
            observers.append(
                try store.observe("SELECT * FROM t") {
                    calls.add(1, ordering: .relaxed)
                    received.results.yield($0.items.count)
                })
        }
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 0)
        // This is longer than the stall timeout, after which another thread continues.
        let clock = ContinuousClock()
        let end = clock.now + .milliseconds(200)
        var id = 0
        while clock.now < end {
            id += 1
            try await insert(id, into: store)
            #expect(try await others.next()?.items.count == id)
        }
        #expect(calls.load(ordering: .relaxed) == 0)
        // One free thread is enough for all waiting callbacks.
        gate.withLock { $0 = 1 }
        gate.broadcast()
        for received in waiting {
            var counts = received.counts.makeAsyncIterator()
            #expect(await counts.next() == id)
        }
        gate.withLock { $0 = limit }
        gate.broadcast()
        var lateCounts = late.counts.makeAsyncIterator()
        for _ in 0..<limit { #expect(await lateCounts.next() == id) }
        #expect(calls.load(ordering: .relaxed) == waiting.count)
        withExtendedLifetime(observers) {}
        try await store.close()
    }

    @Test func `a commit during a dispatch reaches observers although a callback then blocks`()
        async throws
    {
        let store = try await Store.inMemory()
        // The dispatch and the callback continue once their gates are true.
        let (dispatchGate, callbackGate) = (Monitor(true), Monitor(false))
        let (begun, starter) = AsyncStream<Void>.makeStream()
        store.queries.registeredCollections.register("hub") {
            if !dispatchGate.withLock({ $0 }) { starter.yield() }
            dispatchGate.wait { !$0 }
            return []
        }
        let received = ReceivedResults()
        let observer = try store.observe("SELECT * FROM t") {
            received.results.yield($0.items.count)
        }
        defer { observer.cancel() }
        var counts = received.counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        dispatchGate.withLock { $0 = false }
        let blocked = try store.observe("SELECT * FROM system:hub") { _ in
            callbackGate.wait { !$0 }
        }
        defer { blocked.cancel() }
        var starts = begun.makeAsyncIterator()
        await starts.next()
        // The thread that the first commit wakes waits again before the last one.
        for id in 1...50 { try await insert(id, into: store) }
        dispatchGate.withLock { $0 = true }
        dispatchGate.broadcast()
        #expect(await counts.next() == 50)
        callbackGate.withLock { $0 = true }
        callbackGate.broadcast()
        try await store.close()
    }

    @Test func `errors thrown by callbacks are counted`() async throws {
        let store = try await Store.inMemory()
        let received = ReceivedResults()
        let observer = try store.observe("SELECT * FROM t") { result in
            received.results.yield(result.items.count)
            throw TestError()
        }
        defer { observer.cancel() }
        var counts = received.counts.makeAsyncIterator()
        for id in 0..<5 {
            #expect(await counts.next() == id)
            try await insert(id, into: store)
        }
        #expect(await counts.next() == 5)
        let failures = try await store.execute(
            "SELECT value FROM system:metrics WHERE name = 'observers_failed'"
        ).items[0]["value"]
        // The last error may not be counted yet.
        #expect(failures == 5 || failures == 6)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `a callback that throws before it requests more gets the next change`() async throws {
        let store = try await Store.inMemory()
        let received = ReceivedResults()
        let observer = try store.observe("SELECT * FROM t") { result, next in
            received.results.yield(result.items.count)
            if result.items.count < 2 { throw TestError() }
            next()
        }
        defer { observer.cancel() }
        var counts = received.counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        for id in 1...3 {
            try await insert(id, into: store)
            #expect(await counts.next() == id)
        }
        try await store.close()
    }

    @Test func `an observer can be canceled in its callback and again later`() async throws {
        let store = try await Store.inMemory()
        let received = ReceivedResults()
        let cell = Mutex<StoreObserver?>(nil)
        let observer = try store.observe("SELECT * FROM t") { result in
            received.results.yield(result.items.count)
            if result.items.count == 1 { cell.withLock { $0 }?.cancel() }
        }
        cell.withLock { $0 = observer }
        var counts = received.counts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        try await insert(1, into: store)
        #expect(await counts.next() == 1)
        try await insert(2, into: store)
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 2)
        observer.cancel()
        #expect(observer.isCancelled)
        received.results.finish()
        #expect(await counts.next() == nil)
        try await store.close()
    }

    @Test func `an observer canceled concurrently gets at most one later result`() async throws {
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
                        let (stream, continuation) = AsyncStream<Void>.makeStream()
                        let observer = try store.observe("SELECT * FROM t") { _ in
                            if isCancelled.load(ordering: .acquiring) {
                                calls.add(1, ordering: .relaxed)
                            }
                            continuation.yield()
                        }
                        var received = stream.makeAsyncIterator()
                        await received.next()
                        async let other: Void = observer.cancel()
                        observer.cancel()
                        isCancelled.store(true, ordering: .releasing)
                        await other
                        // The result of a later observer follows all earlier callbacks.
                        var later = try store.observe("SELECT * FROM t").makeAsyncIterator()
                        _ = try await later.next()
                        // A callback that is about to begin may read `isCancelled` after it is set.
                        #expect(calls.load(ordering: .relaxed) <= 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.observers.isEmpty)
        try await store.close()
    }

    @Test func `a callback can register an observer`() async throws {
        let store = try await Store.inMemory()
        let received = ReceivedResults()
        let depth = Atomic(0)
        let observers = Mutex<[StoreObserver]>([])
        @Sendable func observe(_ store: Store) throws {
            let observer = try store.observe("SELECT * FROM t") { [weak store] result in
                received.results.yield(result.items.count)
                let isFirst = depth.add(1, ordering: .relaxed).newValue <= 10
                if isFirst, let store { try observe(store) }
            }
            observers.withLock { $0.append(observer) }
        }
        try observe(store)
        var counts = received.counts.makeAsyncIterator()
        for _ in 0..<11 { #expect(await counts.next() == 0) }
        #expect(store.observers.count == 11)
        try await insert(1, into: store)
        for _ in 0..<11 { #expect(await counts.next() == 1) }
        try await store.close()
    }

    @Test func `an observer that changes its own result gets at most one result per change`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 0})")
        let (stream, continuation) = AsyncStream<Int64>.makeStream()
        let observer = try store.observe("SELECT n FROM t") { [weak store] result in
            guard case .integer(let number)? = try result.items[0]["n"] else { return }
            continuation.yield(number)
            guard number < 50 else { return }
            Task { try await store?.execute("UPDATE t SET n = n + 1 WHERE n < 50") }
        }
        defer { observer.cancel() }
        var calls = 0
        for await number in stream {
            calls += 1
            if number == 50 { break }
        }
        #expect(calls <= 51)
        // The observer gets later writes, too.
        try await store.execute("UPDATE t SET n = 60")
        for await number in stream where number == 60 { break }
        try await store.close()
    }
}
