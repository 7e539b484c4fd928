import BenchHarness

/// One writer that replaces random entries, so that old versions must be compacted.
final class OverwriteTrial: Trial {
    /// Entries per commit; commits of single entries would be too slow to fill a log.
    private static let batch: UInt64 = 100
    private let store: any BenchmarkStore
    private let session: any StoreSession
    private let entries: Entries
    private let count: Int
    private let seconds: Double

    /// Fills a store with the entries that each round overwrites.
    init(_ peer: BenchmarkPeer, _ stage: Stage) async throws {
        entries = Entries(.random)
        count = stage.scale.pick(100_000, quick: 20_000)
        // Compaction runs at intervals, and a longer round contains several runs.
        seconds = stage.scale.roundSeconds * (stage.scale.isQuick ? 1 : 2)
        let loading = try peer.open(stage.disk.path, .bulk)
        try await loading.load(entries, count: count)
        try loading.close()
        store = try peer.open(stage.disk.path, BenchmarkStoreOptions())
        session = try store.session()
    }

    func run(round: Int) async throws -> Sample {
        let drawn = entries.drawn(from: count, draw: UInt64(round + 1))
        var tally = CommitTally(seconds: seconds)
        try await tally.repeatCommits { number in
            let first = number * Self.batch
            try await session.commit(drawn, first..<first + Self.batch)
        }
        return tally.sample
    }

    func finish() throws {
        session.close()
        try store.close()
    }
}
