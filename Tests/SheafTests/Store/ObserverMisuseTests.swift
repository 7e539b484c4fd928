import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import Synchronization
import Testing

/// Misuse of observers, and system parameters that change while they run.
struct ObserverMisuseTests {
    private func insert(_ id: Int, into store: Store) async throws {
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(id)})")
    }

    @Test func `one of two loops over an observation is refused and the other continues`()
        async throws
    {
        let store = try await Store.inMemory()
        let observation = try store.observe("SELECT * FROM t")
        let (counts, continuation) = AsyncStream<Int>.makeStream()
        let loop = { @Sendable in
            for try await result in observation { continuation.yield(result.items.count) }
            // A refused loop ends with an error before this line.
            continuation.finish()
        }
        let first = Task { try await loop() }
        var received = counts.makeAsyncIterator()
        #expect(await received.next() == 0)
        // Either loop may be the second to wait; the other one gets the remaining results.
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
            #expect(await received.next() == 1)
            try? await store.close()
            for await error in group { #expect(error == nil) }
            return refused
        }
        #expect(refusals == 1)
        #expect(refused?.reason == .limit)
        #expect(refused?.hint != nil)
    }

    @Test(.timeLimit(.minutes(40)))
    func `the signal of an earlier call requests no further result`() async throws {
        let store = try await Store.inMemory()
        let (stream, continuation) = AsyncStream<(Int, @Sendable () -> Void)>.makeStream()
        let observer = try store.observe("SELECT * FROM t") { result, next in
            continuation.yield((result.items.count, next))
        }
        defer { observer.cancel() }
        // One thread calls both observers in order, so this one marks the end of each delivery.
        let (marks, marker) = AsyncStream<Int>.makeStream()
        let marking = try store.observe("SELECT * FROM t") { marker.yield($0.items.count) }
        defer { marking.cancel() }
        var received = stream.makeAsyncIterator()
        var marked = marks.makeAsyncIterator()
        let first = await received.next()
        #expect(first?.0 == 0)
        first?.1()
        try await insert(1, into: store)
        let second = await received.next()
        #expect(second?.0 == 1)
        first?.1()
        try await insert(2, into: store)
        // Without a wait, the next result could replace one that the signal requested by mistake.
        while let count = await marked.next(), count < 2 {}
        first?.1()
        try await insert(3, into: store)
        while let count = await marked.next(), count < 3 {}
        second?.1()
        #expect(await received.next()?.0 == 3)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `a changed system parameter updates observed results`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'm': {'a': 1}, 'n': 1})")
        var whole = try store.observe("SELECT * FROM t").makeAsyncIterator()
        var inner = try store.observe("SELECT * FROM t WHERE m.a = 1").makeAsyncIterator()
        #expect(try await whole.next()?.items[0].jsonString == #"{"_id":1,"m":{"a":1},"n":1}"#)
        #expect(try await inner.next()?.items.count == 1)
        try await store.execute("ALTER SYSTEM SET dql_strict_mode = true")
        // The update causes a result, so the loop ends even if the parameter has no effect.
        try await store.execute("UPDATE t SET n = 2")
        var strict: String?
        repeat {
            strict = try await whole.next()?.items[0].jsonString
        } while strict?.contains(#""n":1"#) == true
        try #require(strict == #"{"_id":1,"n":2}"#)
        #expect(try await inner.next()?.items.count == 0)
        try await store.execute("ALTER SYSTEM RESET ALL")
        #expect(try await whole.next()?.items[0].jsonString == #"{"_id":1,"m":{"a":1},"n":2}"#)
        #expect(try await inner.next()?.items.count == 1)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `a changed refresh interval applies to observers of system collections`() async throws {
        let store = try await Store.inMemory()
        let interval: DQL = "ALTER SYSTEM SET live_query_system_collection_refresh_interval = :ms"
        try await store.execute(interval, ["ms": 86_400_000])
        var results = try store.observe("SELECT * FROM system:dual").makeAsyncIterator()
        #expect(try await results.next()?.items.count == 1)
        try await store.execute(interval, ["ms": 1])
        for _ in 0..<3 { #expect(try await results.next()?.items.count == 1) }
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `a result with more rows than are retained is updated after each change`() async throws {
        let store = try await Store.inMemory()
        let count = 17_000
        try await store.transaction { transaction in
            for start in stride(from: 0, to: count, by: 1_000) {
                let documents = (start..<start + 1_000).map {
                    ["_id": .integer(Int64($0))] as Value
                }
                let rows: DQL = "INSERT INTO t DOCUMENTS (:d)"
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
        // An update without changes and an insertion outside of the result cause no result.
        try await store.execute("UPDATE t SET n = 1 WHERE _id = 5")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'no', 'hidden': true})")
        let deletion = try await store.execute("DELETE FROM t WHERE _id = 7")
        let deleted = try await results.next()
        #expect(deleted?.commitID == deletion.commitID)
        #expect(deleted?.items.count == count - 1)
        try await store.close()
    }
}

/// Log handlers and logged messages.
struct LogTests {
    private final class MessageRecorder: Sendable {
        let lines = Mutex<[String]>([])
        let store = Mutex<Store?>(nil)

        func record(_ text: String) {
            lines.withLock { $0.append(text) }
            guard let store = store.withLock({ $0 }) else { return }
            do {
                try store.observe("SELECT * FROM t") { _ in }.cancel()
            } catch {
                lines.withLock { $0.append("\(error)") }
            }
        }
    }

    @Test func `a log handler for a large document may use the store`() async throws {
        let handler = MessageRecorder()
        let log = StoreLog { _, message, _ in handler.record(message) }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        handler.store.withLock { $0 = store }
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
        handler.store.withLock { $0 = nil }
        try await store.close()
        let received = handler.lines.withLock { $0 }.filter { $0.contains("soft_limit_bytes") }
        #expect(received.count == 2, "\(received)")
    }

    @Test func `the errors of observers are logged without values`() async throws {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let log = StoreLog(from: .error) { _, message, metadata in
            continuation.yield("\(message) \(metadata)")
        }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        try await store.execute("INSERT INTO a DOCUMENTS ({'_id': 1, 'k': 'x'})")
        let observer = try store.observe(
            "SELECT regexp_like('x', k) AS m FROM a WHERE k != 'hidden'"
        ) { _ in }
        defer { observer.cancel() }
        try await store.execute("INSERT INTO a DOCUMENTS ({'_id': 2, 'k': '('})")
        var received = lines.makeAsyncIterator()
        let line = await received.next()
        #expect(line?.contains("pattern") == true)
        #expect(line?.contains("hidden") == false)
        try await store.close()
    }
}
