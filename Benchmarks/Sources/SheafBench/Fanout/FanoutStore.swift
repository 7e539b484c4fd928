import BenchHarness
import Sheaf
import Synchronization

/// An in-memory store with documents and observers.
///
/// In-memory commits are cheap, so the measured time is that of notifying observers.
final class FanoutStore: Sendable {
    private let store: Sheaf.Store
    /// The number of outstanding callbacks, and the continuation to resume after the last.
    private let round = Mutex(Round())
    /// The observers, which end when they are released.
    private let observers = Mutex<[StoreObserver]>([])

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

    /// Registers observers and waits for their initial results.
    func observe(_ queries: [(DQL, QueryArguments)]) async throws {
        expect(queries.count)
        for (query, arguments) in queries {
            let observer = try store.observe(query, arguments) { [weak self] result in
                sink(UInt64(result.items.count))
                self?.recordResult()
            }
            observers.withLock { $0.append(observer) }
        }
        _ = await end()
    }

    /// Updates one document; returns the nanoseconds until the last of `count` callbacks.
    func change(_ id: Int, to mileage: Int, receivedBy count: Int) async throws -> UInt64 {
        expect(count)
        let start = now()
        try await store.execute("UPDATE cars SET mileage = \(mileage) WHERE _id = \(id)")
        return await end() - start
    }

    func close() async throws {
        try await store.close()
    }

    private func expect(_ count: Int) {
        round.withLock { $0.left = count }
    }

    private func recordResult() {
        let waiter = round.withLock { round -> UnsafeContinuation<UInt64, Never>? in
            round.left -= 1
            guard round.left == 0 else { return nil }
            round.end = now()
            defer { round.waiter = nil }
            return round.waiter
        }
        waiter?.resume(returning: now())
    }

    /// Waits for the last callback and returns its time.
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
