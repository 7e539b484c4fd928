import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

struct ClosingTests {
    private final class Acknowledged: Sendable {
        let numbers = Mutex<Set<Int>>([])
    }

    @Test func `closing under load loses no acknowledged commit`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("closing, seed \(seed)")
        for round in 0..<12 {
            let directory = TemporaryDirectory()
            let store = try await Store.open(at: directory.path)
            // On a busy machine a transaction may keep others waiting for long.
            try await store.execute("ALTER SYSTEM SET transaction_wait_limit_ms = 600000")
            var random = SeededRandom(seed: seed &+ UInt64(round), "closing")
            let wanted = 20 + random.below(200)
            let acknowledged = Acknowledged()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<16 {
                    group.addTask {
                        try await write(store, caller, acknowledged)
                    }
                }
                while acknowledged.numbers.withLock({ $0.count }) < wanted { await Task.yield() }
                // Several tasks close the store concurrently.
                try await withThrowingTaskGroup(of: Void.self) { closers in
                    for _ in 0..<3 { closers.addTask { try await store.close() } }
                    try await closers.waitForAll()
                }
                try await store.close()
                try await group.waitForAll()
            }
            await #expect(throws: StoreError.self) { try await store.execute("SELECT * FROM t") }
            let again = try await Store.open(at: directory.path)
            let remote = try await again.execute("SELECT n FROM t").items.map { item -> Int in
                guard case .integer(let number)? = try item["n"] else { return -1 }
                return Int(number)
            }
            #expect(Set(remote).count == remote.count)
            #expect(acknowledged.numbers.withLock { $0 }.subtracting(remote).isEmpty)
            // Transactions are stored completely or not at all.
            for number in remote where number % 3 != 0 {
                #expect(remote.contains(number % 3 == 1 ? number + 1 : number - 1))
            }
            try await again.close()
        }
    }

    @Test func `each call that closes reports the error that made closing fail`() async throws {
        let volume = SimulatedVolume(seed: 1)
        var options = StoreOptions()
        options.storage.runsMaintenance = false
        let store = try await Store.open(on: volume, options: options)
        try await store.execute("INSERT INTO t DOCUMENTS ({n: 1})")
        // Only the seal of the segment remains to be flushed.
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        let close: @Sendable () async -> String? = {
            do { try await store.close() } catch { return "\(error)" }
            return nil
        }
        var errors = await withTaskGroup(of: String?.self) { closers in
            for _ in 0..<3 { closers.addTask { await close() } }
            return await closers.reduce(into: []) { $0.append($1) }
        }
        errors.append(await close())
        let first = try #require(errors[0])
        #expect(errors == Array(repeating: first, count: 4))
    }

    /// Writes single documents and pairs until the store is closed.
    private func write(
        _ store: Store, _ caller: Int, _ acknowledged: Acknowledged
    ) async throws {
        for step in 0... {
            let number = (caller * 1_000_000 + step) * 3
            do {
                if step % 2 == 0 {
                    try await store.execute("INSERT INTO t DOCUMENTS ({'n': \(number)})")
                    acknowledged.numbers.withLock { _ = $0.insert(number) }
                } else {
                    try await store.transaction { transaction in
                        for offset in 1...2 {
                            try await transaction.execute(
                                "INSERT INTO t DOCUMENTS ({'n': \(number + offset)})")
                            await Task.yield()
                        }
                        return .commit
                    }
                    acknowledged.numbers.withLock { $0.formUnion([number + 1, number + 2]) }
                }
            } catch let error as StoreError {
                #expect(error.reason == .closed)
                return
            }
        }
    }

    @Test func `a closed store refuses all calls`() async throws {
        let store = try await Store.inMemory()
        let inserted = try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        let kept = try await store.execute("SELECT * FROM t")
        try await store.close()
        try await store.close()
        for query: DQL in [
            "SELECT * FROM t", "INSERT INTO t DOCUMENTS ({'_id': 2})", "CREATE INDEX i ON t (a)",
            "SHOW ALL",
        ] {
            await refused { try await store.execute(query) }
        }
        await refused { try await store.transaction { _ in .commit } }
        await refused { try await store.transaction(isReadOnly: true) { _ in .commit } }
        // Results that were read before closing stay valid.
        #expect(try kept.items[0].jsonString == #"{"_id":1}"#)
        #expect(inserted.commitID == 1)
    }

    private func refused<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async {
        do {
            _ = try await body()
            Issue.record("The closed store accepted a call.")
        } catch {
            #expect((error as? StoreError)?.reason == .closed)
        }
    }
}
