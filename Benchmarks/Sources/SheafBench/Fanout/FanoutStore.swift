import BenchHarness
import Sheaf
import Synchronization

/// A store in memory with some documents, and observers of it.
///
/// In memory a commit costs little, so that what is measured is how its observers come to hear of it.
final class FanoutStore: Sendable {
    private let store: Sheaf.Store
    /// How many callbacks are still to come, and who waits for the last of them.
    private let round = Mutex(Round())

    private struct Round: Sendable {
        var left = 0
        var end: UInt64 = 0
        var waiter: UnsafeContinuation<UInt64, Never>?
    }

    init(documents: Int) async throws {
        store = try await Sheaf.Store.inMemory()
        for first in stride(from: 0, to: documents, by: 1_000) {
            try await store.transaction { transaction in
                for id in first..<min(first + 1_000, documents) {
                    try await transaction.execute(
                        """
                        INSERT INTO cars DOCUMENTS ({'_id': \(id), 'n': \(id), 'mileage': 0, \
                        'color': 'blue', 'make': 'Horch', 'model': '901', 'year': 1935})
                        """)
                }
                return .commit
            }
        }
    }

    /// Begins to observe, and waits for the first results.
    func observe(_ queries: [(Query, QueryArguments)]) async throws {
        expect(queries.count)
        for (query, arguments) in queries {
            try store.observe(query, arguments) { [weak self] result in
                sink(UInt64(result.items.count))
                self?.hear()
            }
        }
        _ = await end()
    }

    /// Writes to one document, and waits until so many observers have heard of it; returns the
    /// nanoseconds from the call to the last of them.
    func change(_ id: Int, to mileage: Int, heardBy count: Int) async throws -> UInt64 {
        expect(count)
        let start = now()
        try await store.execute("UPDATE cars SET mileage = \(mileage) WHERE _id = \(id)")
        return await end() - start
    }

    func close() async throws {
        try await store.close()
    }

    // MARK: Callbacks

    private func expect(_ count: Int) {
        round.withLock { $0.left = count }
    }

    private func hear() {
        let waiter = round.withLock { round -> UnsafeContinuation<UInt64, Never>? in
            round.left -= 1
            guard round.left == 0 else { return nil }
            round.end = now()
            defer { round.waiter = nil }
            return round.waiter
        }
        waiter?.resume(returning: now())
    }

    /// When the last callback came.
    private func end() async -> UInt64 {
        await withUnsafeContinuation { (waiter: UnsafeContinuation<UInt64, Never>) in
            let end = round.withLock { round -> UInt64? in
                if round.left <= 0 { return round.end }
                round.waiter = waiter
                return nil
            }
            if let end { waiter.resume(returning: end) }
        }
    }
}
