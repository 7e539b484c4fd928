import Sheaf
import SheafDocument
import SheafStatements
import SheafStore
import Testing

/// The errors of calls that would wait for the transaction in whose block they are made.
@Suite struct NestedErrorTests {
    private func refusal(
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async -> StoreError? {
        do { try await body() } catch { return error as? StoreError }
        return nil
    }

    // A call that is not refused waits forever.
    @Test(.timeLimit(.minutes(40)), arguments: [nil, "move"] as [String?])
    func `a call that would wait for its own transaction is named with the transaction`(
        hint: String?
    ) async throws {
        let store = try await Store.inMemory()
        let transactionName = "the transaction" + (hint.map { " \"\($0)\"" } ?? "")
        let wait = " would wait forever for \(transactionName), in whose block it was requested"
        try await store.transaction(hint: hint) { _ in
            let found = [
                await refusal { try await store.execute("DELETE FROM t") },
                await refusal { try await store.execute("CREATE INDEX i ON t (n)") },
                await refusal { try await store.transaction { _ in .commit } },
                await refusal { try await store.transaction(hint: "inner") { _ in .commit } },
                await refusal { try store.transactionBlocking { _ in .commit } },
                await refusal { try store.transactionBlocking(hint: "b") { _ in .commit } },
                await refusal { try await store.collectTombstones() },
                await refusal { try await store.evict([]) },
            ]
            let expected = [
                "the statement \"DELETE FROM t\"", "the statement \"CREATE INDEX i ON t (n)\"",
                "another transaction", "another transaction \"inner\"", "another transaction",
                "another transaction \"b\"", "tombstone collection", "reverting refused writes",
            ].map { name -> StoreError? in
                StoreError(
                    .nestedTransaction, name + wait,
                    hint: "use the transaction passed to the block, or wait until it has ended")
            }
            #expect(found == expected)
            let closing = await refusal { try await store.close() }
            let refused = StoreError(
                .nestedTransaction, "closing" + wait,
                hint: "close the store after the transaction has ended")
            #expect(closing == refused)
        }
        // In a read-only transaction only closing would wait.
        try await store.transaction(hint: hint, isReadOnly: true) { _ in
            let written = await refusal {
                try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            }
            let closing = await refusal { try await store.close() }
            #expect(written == nil && closing?.message == "closing" + wait)
        }
        try await store.close()
    }
}
