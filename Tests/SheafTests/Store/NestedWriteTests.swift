import Sheaf
import SheafStatements
import Testing

/// Writes inside the block of a transaction for which they would wait.
struct NestedWriteTests {
    private static let insertion: DQL = "INSERT INTO t DOCUMENTS ({'_id': 1})"

    private actor Writer {
        let store: Store

        init(_ store: Store) {
            self.store = store
        }

        func write() async throws {
            try await store.execute(NestedWriteTests.insertion)
        }
    }

    /// Returns the reason of the error that a closure throws.
    private func refusal(
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async -> StoreError.Reason? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? StoreError)?.reason
        }
    }

    private func write(_ store: Store) async throws {
        try await store.execute(Self.insertion)
    }

    /// Runs a closure in an unstructured task, which is canceled with the calling task.
    private func unstructured(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task { try await body() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    // A nested write that is not refused waits forever.
    @Test(.timeLimit(.minutes(40)))
    func `a nested write is refused in every form`() async throws {
        let store = try await Store.inMemory()
        let other = try await Store.inMemory()
        let writer = Writer(store)
        try await store.transaction(hint: "outside") { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 0})")
            var refusals: [StoreError.Reason?] = []
            refusals.append(await refusal { try await write(store) })
            refusals.append(
                await refusal { try await store.execute("CREATE INDEX i ON t (a)") })
            refusals.append(await refusal { try await store.close() })
            refusals.append(await refusal { try await writer.write() })
            refusals.append(
                await refusal { try await unstructured { try await write(store) } })
            refusals.append(
                await refusal {
                    async let written: Void = write(store)
                    try await written
                })
            refusals.append(
                await refusal {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<4 { group.addTask { try await write(store) } }
                        try await group.waitForAll()
                    }
                })
            refusals.append(
                await refusal { try await store.transaction { _ in .commit } })
            refusals.append(
                await refusal {
                    try await store.transaction(isReadOnly: true) { _ in
                        try await write(store)
                        return .commit
                    }
                })
            refusals.append(
                await refusal {
                    try await other.transaction { _ in
                        try await write(store)
                        return .commit
                    }
                })
            refusals.append(
                await refusal {
                    try await other.transaction(isReadOnly: true) { _ in
                        try await unstructured { try await writer.write() }
                        return .commit
                    }
                })
            #expect(refusals == Array(repeating: .nestedTransaction, count: refusals.count))
            try await checkAllowed(store, other)
            return .commit
        }
        #expect(try await store.execute("SELECT * FROM t").items.count == 1)
        #expect(try await other.execute("SELECT * FROM t").items.count == 1)
        try await store.close()
        try await other.close()
    }

    /// Checks that calls in a transaction that need not wait for it are allowed.
    private func checkAllowed(_ store: Store, _ other: Store) async throws {
        #expect(try await store.execute("SELECT * FROM t").items.isEmpty)
        try await write(other)
        try await store.transaction(isReadOnly: true) { inner in
            let seen = try await inner.execute("SELECT * FROM t")
            #expect(seen.items.isEmpty)
            return .commit
        }
    }

    @Test func `a task that outlives its transaction may write`() async throws {
        let store = try await Store.inMemory()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let task = try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 0})")
            return Task {
                for await _ in ended {}
                try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
                try await store.transaction { inner in
                    try await inner.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
                    return .commit
                }
            }
        }
        end.finish()
        try await task.value
        #expect(try await store.execute("SELECT * FROM t").items.count == 3)
        try await store.close()
    }

    @Test func `an ended transaction refuses statements`() async throws {
        let store = try await Store.inMemory()
        for isReadOnly in [false, true] {
            let ended = try await store.transaction(isReadOnly: isReadOnly) { $0 }
            do {
                try await ended.execute("SELECT * FROM t")
                Issue.record("The ended transaction ran a statement.")
            } catch let error as StoreError {
                #expect(error.reason == .transactionEnded)
            }
        }
        try await store.close()
    }
}
