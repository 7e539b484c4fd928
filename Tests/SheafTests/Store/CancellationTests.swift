import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Synchronization
import Testing

struct CancellationTests {
    private final class Order: Sendable {
        let numbers = Mutex<[Int]>([])
    }

    /// Starts a transaction whose block runs until `release` is called.
    private func holding(
        _ store: Store
    ) async throws -> (transaction: Task<Void, any Error>, release: @Sendable () -> Void) {
        // On a slow machine, tasks may wait longer than the default limit.
        try await store.execute("ALTER SYSTEM SET transaction_wait_limit_ms = 600000")
        let (entered, enter) = AsyncStream<Void>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        let task = Task {
            _ = try await store.transaction { transaction in
                enter.finish()
                for await _ in released {}
                return .commit
            }
        }
        for await _ in entered {}
        return (task, { release.finish() })
    }

    @Test func `a thousand canceled transactions leave the gate free`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("cancellations, seed \(seed)")
        var random = SeededRandom(seed: seed, "cancellations")
        let store = try await Store.inMemory()
        // On a busy machine, the tasks may wait for a long time before they are canceled.
        let (holder, release) = try await holding(store)
        let waiting = (0..<500).map { number in
            Task {
                try await store.transaction { transaction in
                    try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
                    return .commit
                }
            }
        }
        for _ in 0..<random.below(2_000) { await Task.yield() }
        for task in waiting { task.cancel() }
        for task in waiting {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        release()
        try await holder.value
        for number in 500..<1_000 {
            let task = Task {
                try await store.transaction { transaction in
                    try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
                    withUnsafeCurrentTask { $0?.cancel() }
                    if number % 2 == 0 { try Task.checkCancellation() }
                    return .commit
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(try await store.execute("SELECT * FROM t").items.isEmpty)
        let next = try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'next'})")
        #expect(next.commitID == 1)
        try await store.close()
    }

    @Test func `a canceled task writes nothing and runs no block`() async throws {
        let store = try await Store.inMemory()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: CancellationError.self) {
                try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            }
            await #expect(throws: CancellationError.self) {
                try await store.transaction { _ in
                    Issue.record("the block ran")
                    return .commit
                }
            }
        }
        await task.value
        #expect(try await store.execute("SELECT * FROM t").items.isEmpty)
        try await store.close()
    }

    @Test func `a statement survives the cancellation of the task that runs it`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 0, 'n': 0})")
        let (holder, release) = try await holding(store)
        var tasks: [Task<QueryResult, any Error>] = []
        // The loop is long enough to check for cancellation.
        let list = Value.array((0..<5_000).map { .integer($0) })
        for _ in 0..<100 {
            tasks.append(
                Task {
                    try await store.execute(
                        """
                        UPDATE t SET n = n + 1, found = (ANY x IN :list SATISFIES x < 0 END)
                        WHERE _id = 0
                        """, ["list": list])
                })
        }
        await store.whenWaiting(100)
        // The task that leaves the gate runs the waiting statements.
        holder.cancel()
        release()
        await #expect(throws: CancellationError.self) { try await holder.value }
        for task in tasks { _ = try await task.value }
        let rows = try await store.execute("SELECT n FROM t WHERE _id = 0").items
        #expect(try rows[0]["n"] == .integer(100))
        try await store.close()
    }

    @Test func `waiting writers are served in the order of their arrival`() async throws {
        let store = try await Store.inMemory()
        let (holder, release) = try await holding(store)
        let order = Order()
        var tasks: [Task<Int64?, any Error>] = []
        for number in 0..<60 {
            let (started, start) = AsyncStream<Void>.makeStream()
            tasks.append(
                Task {
                    start.finish()
                    guard number % 3 == 0 else {
                        _ = try await store.transaction { _ in
                            order.numbers.withLock { $0.append(number) }
                            return TransactionCompletion.commit
                        }
                        return nil
                    }
                    // A statement has no block, so the test checks the order of commits.
                    return try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
                        .commitID
                })
            for await _ in started {}
            // The task waits at the gate before the next one starts.
            await store.whenWaiting(number + 1)
        }
        release()
        try await holder.value
        var commits: [Int64] = []
        for task in tasks {
            if let commit = try await task.value { commits.append(commit) }
        }
        #expect(commits == Array(1...20))
        let transactions = (0..<60).filter { $0 % 3 != 0 }
        #expect(order.numbers.withLock { $0 } == transactions)
        try await store.close()
    }
}

extension Store {
    /// Waits until `count` tasks wait at the gate.
    fileprivate func whenWaiting(_ count: Int) async {
        while waitingCount < count { await Task.yield() }
    }
}
