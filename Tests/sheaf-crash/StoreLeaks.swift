import Sheaf
import SheafTestSupport

/// Counts what stores leave behind that were opened and closed, in a process that does nothing else.
enum StoreLeaks {
    /// What memory may grow by, and by how much that may be wrong.
    private static let allowedGrowth = 1 << 20

    /// Opens and closes stores in memory `rounds` times, and one on the disk for each thirty of those;
    /// expects no more threads, descriptors and memory than in the middle.
    static func run(rounds: Int) async throws -> String {
        let directory = TemporaryDirectory()
        // The first half fills what is kept for all stores.
        try await use(rounds / 2, directory.path)
        let before = ProcessCounts.now()
        try await use(rounds - rounds / 2, directory.path)
        var after = ProcessCounts.now()
        // The threads of stores that nobody closed end by themselves, a moment later.
        for _ in 0..<20 where after.hasGrown(from: before, allowing: allowedGrowth) {
            try await use(rounds / 20, directory.path)
            after = ProcessCounts.now()
        }
        guard !after.hasGrown(from: before, allowing: allowedGrowth) else {
            throw CrashFailure("there were \(before), and after \(rounds) rounds \(after)")
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
            throw CrashFailure("what was inserted is not there")
        }
        // Who forgets to close loses nothing, and keeps nothing.
        if round % 4 != 3 { try await store.close() }
    }
}
