import Sheaf
import SheafStatements
import Synchronization
import Testing

/// Closing a store during read-only transactions.
struct ClosingReadersTests {
    private final class EventLog: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ step: String) { all.withLock { $0.append(step) } }
        var list: [String] { all.withLock { $0 } }
    }

    @Test(.timeLimit(.minutes(40)))
    func `closing waits for a read-only transaction`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        let steps = EventLog()
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        let reader = Task {
            try await store.transaction(isReadOnly: true) { transaction in
                begin.finish()
                for await _ in released {}
                let count = try await transaction.execute("SELECT * FROM t").items.count
                steps.add("read \(count)")
            }
        }
        for await _ in begun {}
        let closer = Task {
            try await store.close()
            steps.add("closed")
        }
        // Statements are refused once closing has begun.
        while (try? await store.execute("SELECT * FROM t")) != nil { await Task.yield() }
        await #expect(throws: StoreError.self) {
            try await store.transaction(isReadOnly: true) { _ in }
        }
        // This is enough time for `close` to return if it does not wait.
        let end = ContinuousClock.now + .milliseconds(200)
        while steps.list.isEmpty, ContinuousClock.now < end { await Task.yield() }
        #expect(steps.list.isEmpty)
        release.finish()
        try await reader.value
        try await closer.value
        #expect(steps.list == ["read 1", "closed"])
    }

    @Test(.timeLimit(.minutes(40)), arguments: [false, true])
    func `closing within the block of a transaction is an error`(isReadOnly: Bool) async throws {
        let store = try await Store.inMemory()
        try await store.transaction(hint: "mine", isReadOnly: isReadOnly) { _ in
            do {
                try await store.close()
                Issue.record("The store was closed within a transaction.")
            } catch let error as StoreError {
                #expect(error.reason == .nestedTransaction && error.message.contains("mine"))
            }
        }
        try await store.close()
    }
}
