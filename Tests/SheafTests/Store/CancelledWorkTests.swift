import Sheaf
import SheafAttachments
import SheafDocument
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Statements, attachments and waits whose task is canceled.
@Suite(.timeLimit(.minutes(40)))
struct CancelledWorkTests {
    /// Runs `body` in a task that is canceled before it starts.
    private func cancelled<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async -> Swift.Result<Result, any Error> {
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await body()
        }.result
    }

    private func expectCancellation<Result>(
        _ result: Swift.Result<Result, any Error>, _ context: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: CancellationError.self, "\(context)", sourceLocation: location) {
            _ = try result.get()
        }
    }

    /// Creates a store with documents of a collection `t`.
    private func filled(_ count: Int) async throws -> Store {
        let store = try await Store.inMemory()
        try await store.transaction { transaction in
            for id in 0..<count {
                try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': \(id), 'n': 1})")
            }
        }
        return store
    }

    @Test func `a canceled task ends statements that read or write many documents`()
        async throws
    {
        let store = try await filled(3_000)
        for query: DQL in [
            "SELECT * FROM t WHERE n + _id < 0", "SELECT n, COUNT(*) FROM t GROUP BY n",
            "SELECT * FROM t ORDER BY n, _id", "UPDATE t SET n = n + 1",
            "DELETE FROM t WHERE n = 1", "INSERT INTO u SELECT * FROM t",
            "CREATE INDEX i ON t (n)", "SELECT a.n FROM t AS a JOIN t AS b ON a._id = b._id",
        ] {
            expectCancellation(await cancelled { try await store.execute(query) }, "\(query)")
        }
        // Nothing was written, and the gate is free.
        let next = try await store.execute("INSERT INTO v DOCUMENTS ({'_id': 1})")
        #expect(next.commitID == 2)
        #expect(try await store.execute("SELECT * FROM t WHERE n = 1").items.count == 3_000)
        #expect(try await store.execute("SELECT * FROM u").items.isEmpty)
        #expect(try await store.execute("SELECT * FROM system:indexes").items.isEmpty)
        try await store.close()
    }

    @Test func `a statement of a canceled transaction leaves nothing`() async throws {
        let store = try await filled(10)
        let result = await Task {
            try await store.transaction { transaction in
                try await transaction.execute("UPDATE t SET n = 2")
                withUnsafeCurrentTask { $0?.cancel() }
                try await transaction.execute("UPDATE t SET n = 3")
            }
        }.result
        expectCancellation(result)
        #expect(try await store.execute("SELECT * FROM t WHERE n = 1").items.count == 10)
        try await store.close()
    }

    @Test func `a canceled wait for the gate leaves the queue`() async throws {
        let store = try await filled(1)
        try await store.execute("ALTER SYSTEM SET transaction_wait_limit_ms = 600000")
        let (released, release) = AsyncStream<Void>.makeStream()
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let holder = Task {
            try await store.transaction { _ in
                enter.finish()
                for await _ in released {}
            }
        }
        for await _ in entered {}
        let queries: [DQL] = [
            "UPDATE t SET n = 2 WHERE _id = 0", "CREATE INDEX i ON t (n)", "UPDATE t SET n = 3",
        ]
        let waiting = queries.map { query in Task { try await store.execute(query) } }
        while store.waitingCount < queries.count { await Task.yield() }
        for task in waiting { task.cancel() }
        // The holder still has the gate, so only cancellation can end the waits.
        for task in waiting { expectCancellation(await task.result) }
        #expect(store.waitingCount == 0)
        release.finish()
        try await holder.value
        #expect(try await store.execute("SELECT * FROM t WHERE n = 1").items.count == 1)
        try await store.close()
    }

    @Test func `a canceled task closes its store completely`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path("t.sheaf"))
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        try await cancelled { try await store.close() }.get()
        let next = try await Store.open(at: directory.path("t.sheaf"))
        #expect(try await next.execute("SELECT * FROM t").items.count == 1)
        try await next.close()
    }

    @Test func `a canceled task adds and copies no attachment`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path("t.sheaf"))
        let bytes = [UInt8](repeating: 7, count: 1_000_000)
        expectCancellation(await cancelled { try await store.newAttachment(data: bytes) })
        #expect(!store.attachments.holdsFiles)
        let attachment = try await store.newAttachment(data: bytes)
        let copy = directory.path("copy")
        expectCancellation(await cancelled { try await attachment.copy(to: copy) })
        try await attachment.copy(to: copy)
        expectCancellation(await cancelled { try await store.newAttachment(path: copy) })
        #expect(try await attachment.data() == bytes)
        try await store.close()
    }

    @Test func `cancellation ends the reading of an attachment between two chunks`()
        async throws
    {
        let store = try await Store.inMemory()
        let bytes = [UInt8](repeating: 7, count: 1_000_000)
        let attachment = try await store.newAttachment(data: bytes)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let gate = Monitor(false)
        let chunks = Atomic(0)
        let task = Task {
            try await attachment.forEachChunk { _ in
                chunks.add(1, ordering: .relaxed)
                begin.finish()
                gate.wait { !$0 }
            }
        }
        for await _ in begun {}
        task.cancel()
        gate.withLock { $0 = true }
        gate.broadcast()
        expectCancellation(await task.result)
        #expect(chunks.load(ordering: .relaxed) == 1)
        try await store.close()
    }

    @Test func `a canceled wait for a peer ends`() async throws {
        let scene = try await PeerScene(2)
        let result = try await scene.peers[0].store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        let commit = try #require(result.commitID)
        let (sync, key) = (scene.peers[0].sync, scene.peers[1].key)
        // The peers are not connected, so only cancellation can end the wait.
        let task = Task { try await sync.wait(for: commit, on: key) }
        task.cancel()
        expectCancellation(await task.result)
        try await scene.close()
    }

    @Test func `a loop over results ends with its task`() async throws {
        let store = try await filled(1)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let task = Task {
            var count = 0
            for try await _ in try store.observe("SELECT * FROM t") {
                count += 1
                begin.finish()
            }
            return count
        }
        for await _ in begun {}
        task.cancel()
        #expect(try await task.value == 1)
        #expect(store.observers.isEmpty)
        try await store.close()
    }
}
