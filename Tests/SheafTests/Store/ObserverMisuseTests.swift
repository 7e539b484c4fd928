import Sheaf
import Synchronization
import Testing

/// What is asked of observers that nobody should, and what changes under them beside documents.
struct ObserverMisuseTests {
    private func insert(_ id: Int, into store: Store) async throws {
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(id)})")
    }

    @Test func `a second loop over an observation is refused, and the first goes on`() async throws
    {
        let store = try await Store.inMemory()
        let observation = try store.observe("SELECT * FROM t")
        let (counts, teller) = AsyncStream<Int>.makeStream()
        let loop = { @Sendable in
            for try await result in observation { teller.yield(result.items.count) }
            // Who is refused leaves by an error.
            teller.finish()
        }
        let first = Task { try await loop() }
        var told = counts.makeAsyncIterator()
        #expect(await told.next() == 0)
        // Both may be on their way to wait, so either can come second; the other one hears the rest.
        let second = Task { try await loop() }
        var refusals = 0
        let refused = await withTaskGroup(of: StoreError?.self) { group in
            for task in [first, second] {
                group.addTask {
                    do {
                        try await task.value
                        return nil
                    } catch {
                        return error as? StoreError
                    }
                }
            }
            let refused = await group.next() ?? nil
            refusals += 1
            try? await insert(1, into: store)
            #expect(await told.next() == 1)
            try? await store.close()
            for await error in group { #expect(error == nil) }
            return refused
        }
        #expect(refusals == 1)
        #expect(refused?.reason == .limit)
        #expect(refused?.hint != nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func `what an earlier call was handed asks for nothing more`() async throws {
        let store = try await Store.inMemory()
        let (stream, teller) = AsyncStream<(Int, @Sendable () -> Void)>.makeStream()
        try store.observe("SELECT * FROM t") { result, next in
            teller.yield((result.items.count, next))
        }
        // Told in the same order, by the same thread: whatever the first could hear it has heard by then.
        let (marks, marker) = AsyncStream<Int>.makeStream()
        try store.observe("SELECT * FROM t") { marker.yield($0.items.count) }
        var told = stream.makeAsyncIterator()
        var marked = marks.makeAsyncIterator()
        let first = await told.next()
        #expect(first?.0 == 0)
        first?.1()
        try await insert(1, into: store)
        let second = await told.next()
        #expect(second?.0 == 1)
        first?.1()
        try await insert(2, into: store)
        first?.1()
        try await insert(3, into: store)
        while let count = await marked.next(), count < 3 {}
        second?.1()
        #expect(await told.next()?.0 == 3)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(10)))
    func `observers hear what a parameter makes of their results`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'm': {'a': 1}, 'n': 1})")
        var whole = try store.observe("SELECT * FROM t").makeAsyncIterator()
        var inner = try store.observe("SELECT * FROM t WHERE m.a = 1").makeAsyncIterator()
        #expect(try await whole.next()?.items[0].jsonString == #"{"_id":1,"m":{"a":1},"n":1}"#)
        #expect(try await inner.next()?.items.count == 1)
        try await store.execute("ALTER SYSTEM SET dql_strict_mode = true")
        #expect(try await whole.next()?.items[0].jsonString == #"{"_id":1,"n":1}"#)
        #expect(try await inner.next()?.items.count == 0)
        try await store.execute("UPDATE t SET n = 2")
        #expect(try await whole.next()?.items[0].jsonString == #"{"_id":1,"n":2}"#)
        try await store.execute("ALTER SYSTEM RESET ALL")
        #expect(try await whole.next()?.items[0].jsonString == #"{"_id":1,"m":{"a":1},"n":2}"#)
        #expect(try await inner.next()?.items.count == 1)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(10)))
    func `those who observe the system are told as often as is set meanwhile`() async throws {
        let store = try await Store.inMemory()
        let interval: Query = "ALTER SYSTEM SET live_query_system_collection_refresh_interval = :ms"
        try await store.execute(interval, ["ms": 86_400_000])
        var results = try store.observe("SELECT * FROM system:dual").makeAsyncIterator()
        #expect(try await results.next()?.items.count == 1)
        try await store.execute(interval, ["ms": 1])
        for _ in 0..<3 { #expect(try await results.next()?.items.count == 1) }
        try await store.close()
    }

    @Test(.timeLimit(.minutes(5)))
    func `more rows than are kept are found again after each change of one of them`()
        async throws
    {
        let store = try await Store.inMemory()
        let count = 17_000
        try await store.transaction { transaction in
            for start in stride(from: 0, to: count, by: 1_000) {
                let documents = (start..<start + 1_000).map {
                    ["_id": .integer(Int64($0))] as Value
                }
                let rows: Query = "INSERT INTO t DOCUMENTS (:d)"
                for document in documents { try await transaction.execute(rows, ["d": document]) }
            }
        }
        let observation = try store.observe("SELECT * FROM t WHERE hidden IS MISSING")
        var results = observation.makeAsyncIterator()
        #expect(try await results.next()?.items.count == count)
        let update = try await store.execute("UPDATE t SET n = 1 WHERE _id = 5")
        let updated = try await results.next()
        #expect(updated?.commitID == update.commitID)
        #expect(try updated?.items.contains { try $0["n"]?.json == "1" } == true)
        // What says the same, and what is not among the rows, is told to nobody.
        try await store.execute("UPDATE t SET n = 1 WHERE _id = 5")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'no', 'hidden': true})")
        let deletion = try await store.execute("DELETE FROM t WHERE _id = 7")
        let deleted = try await results.next()
        #expect(deleted?.commitID == deletion.commitID)
        #expect(deleted?.items.count == count - 1)
        try await store.close()
    }
}

/// What those who hear the log may do.
struct LogTests {
    private final class Hearer: Sendable {
        let lines = Mutex<[String]>([])
        let store = Mutex<Store?>(nil)

        func hear(_ text: String) {
            lines.withLock { $0.append(text) }
            guard let store = store.withLock({ $0 }) else { return }
            do {
                try store.observe("SELECT * FROM t") { _ in }.cancel()
            } catch {
                lines.withLock { $0.append("\(error)") }
            }
        }
    }

    @Test func `who hears of a large document may use the store`() async throws {
        let hearer = Hearer()
        let log = StoreLog { _, message, _ in hearer.hear(message) }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        hearer.store.withLock { $0 = store }
        try await store.execute("ALTER SYSTEM SET document_size_soft_limit_bytes = 100")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'long': repeat('x', 200)})")
        try await store.transaction { transaction in
            try await transaction.execute(
                "INSERT INTO t DOCUMENTS ({'_id': 2, 'long': repeat('x', 200)})")
            await #expect(throws: StoreError.self) {
                try await transaction.execute(
                    "INSERT INTO t DOCUMENTS ({'_id': 3, 'long': repeat('x', 200)}), ({'_id': 2})")
            }
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 4})")
        }
        hearer.store.withLock { $0 = nil }
        try await store.close()
        let heard = hearer.lines.withLock { $0 }.filter { $0.contains("soft_limit_bytes") }
        #expect(heard.count == 2, "\(heard)")
    }

    @Test func `what observers fail of is mentioned without values`() async throws {
        let (lines, teller) = AsyncStream<String>.makeStream()
        let log = StoreLog(from: .error) { _, message, metadata in
            teller.yield("\(message) \(metadata)")
        }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        try await store.execute("INSERT INTO a DOCUMENTS ({'_id': 1, 'k': 1})")
        try await store.execute("INSERT INTO b DOCUMENTS ({'_id': 1, 'k': 1})")
        try await store.execute("CREATE INDEX i ON b (k)")
        try store.observe("SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.name != 'hidden'") { _ in }
        try await store.execute("DROP INDEX i ON b")
        try await store.execute("INSERT INTO a DOCUMENTS ({'_id': 2, 'k': 1})")
        var heard = lines.makeAsyncIterator()
        let line = await heard.next()
        #expect(line?.contains("disallowed without appropriate index support") == true)
        #expect(line?.contains("hidden") == false)
        try await store.close()
    }
}
