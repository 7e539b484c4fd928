import Sheaf
import SheafStatements
import SheafTestSupport

/// Resources left by closed stores and their queries, in a process that does nothing else.
enum StoreLeaks {
    /// Maximum growth of allocated memory, including measurement noise.
    private static let allowedGrowth = 1 << 20

    /// Opens and closes `rounds` in-memory stores, and a thirtieth as many on disk.
    ///
    /// Verifies that threads, descriptors and memory do not grow after half of the rounds.
    static func run(rounds: Int) async throws -> String {
        let directory = TemporaryDirectory()
        // The first half fills caches that all stores share.
        try await use(rounds / 2, directory.path)
        let before = ProcessCounts.now()
        try await use(rounds - rounds / 2, directory.path)
        var after = ProcessCounts.now()
        // The threads of stores released without closing end shortly afterwards.
        for _ in 0..<20 where after.hasGrown(from: before, allowing: allowedGrowth) {
            try await use(rounds / 20, directory.path)
            after = ProcessCounts.now()
        }
        guard !after.hasGrown(from: before, allowing: allowedGrowth) else {
            throw CrashFailure("leaked: \(before) before, \(after) after \(rounds) rounds")
        }
        return "\(rounds) rounds: \(after), before \(before)"
    }

    private static func use(_ rounds: Int, _ path: String) async throws {
        for round in 0..<rounds {
            try await use(try await Store.inMemory(), round)
            if round % 30 == 0 { try await use(try await Store.open(at: path), round) }
        }
    }

    private static func use(_ store: Store, _ round: Int) async throws {
        try await store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': \(round % 10)}) ON ID CONFLICT DO UPDATE")
        try await store.transaction { transaction in
            try await transaction.execute("UPDATE t SET a = \(round)")
            return .commit
        }
        guard try await store.execute("SELECT * FROM t").items.isEmpty == false else {
            throw CrashFailure("an inserted document is missing")
        }
        // A store that is released without closing keeps its data and frees its resources.
        if round % 4 != 3 { try await store.close() }
    }
}
