import BenchHarness

/// One writer that fills an empty store in durable commits of 1,000 entries.
final class LoadTrial: Trial {
    /// The number of entries per commit.
    static let batch = 1_000
    private let peer: BenchmarkPeer
    private let folder: Folder
    private let entries: Entries
    private let count: Int

    /// Creates a trial in which every round fills a store in a new directory.
    init(_ peer: BenchmarkPeer, _ stage: Stage, _ entries: Entries) {
        self.peer = peer
        self.entries = entries
        folder = stage.disk
        count = stage.scale.pick(100_000, quick: 20_000)
    }

    func run(round: Int) async throws -> Sample {
        let folder = try folder.child("round-\(round)")
        defer { folder.remove() }
        let store = try peer.open(folder.path, BenchmarkStoreOptions())
        let session = try store.session()
        let start = now()
        for first in stride(from: 0, to: UInt64(count), by: Self.batch) {
            try await session.commit(entries, first..<first + UInt64(Self.batch))
        }
        let elapsed = seconds(since: start)
        session.close()
        try store.close()
        return Sample(Double(count) / elapsed)
    }

    func finish() {}
}
