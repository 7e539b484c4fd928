import SheafStorage
import SheafTestSupport

/// Resources left by closed stores, counted in a process that does nothing else.
enum Leaks {
    /// Opens and closes a store `rounds` times.
    ///
    /// Verifies that threads, descriptors and files do not grow after the first rounds.
    static func run(rounds: Int) async throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        for _ in 0..<10 { try await useStore(path, closing: true) }
        let before = try counts(path)
        for round in 0..<rounds {
            // A store that is released without closing keeps its data and frees its resources.
            try await useStore(path, closing: round % 4 != 3)
        }
        try await useStore(path, closing: true)
        let after = try counts(path)
        guard after.descriptors <= before.descriptors, after.threads <= before.threads else {
            throw CrashFailure("leaked: \(before) before, \(after) after \(rounds) rounds")
        }
        // Every opening starts a segment; compaction merges them.
        guard after.files < before.files + 40 else {
            throw CrashFailure("leaked files: \(before) before, \(after) after \(rounds) rounds")
        }
        return "\(rounds) rounds: \(after.descriptors) descriptors, \(after.threads) threads, "
            + "\(after.files) files"
    }

    private static func useStore(_ path: String, closing: Bool) async throws {
        var options = CrashLoad.options
        options.history = HistoryHorizon(commits: 10)
        let store = try LogStore.open(at: path, options: options)
        var batch = WriteBatch()
        try batch.put(Array("key".utf8), Array("payload".utf8))
        try await store.waitForDurability(of: store.append(batch))
        if closing { try store.close() }
    }

    private struct Counts {
        let descriptors: Int
        let threads: Int
        let files: Int
    }

    private static func counts(_ path: String) throws -> Counts {
        let counts = ProcessCounts.now()
        return Counts(
            descriptors: counts.descriptors, threads: counts.threads,
            files: ProcessCounts.entries(path))
    }
}
