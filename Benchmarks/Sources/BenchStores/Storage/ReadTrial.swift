import BenchHarness

/// One reader that gets payloads of random keys from one snapshot.
final class ReadTrial: Trial {
    private let store: any BenchmarkStore
    private let session: any StoreSession
    private let entries: Entries
    private let count: Int
    private let gets: Int

    /// Fills a store and prepares it for reading.
    init(_ peer: BenchmarkPeer, _ stage: Stage) async throws {
        entries = Entries(.random)
        count = stage.scale.pick(1_000_000, quick: 100_000)
        gets = stage.scale.pick(400_000, quick: 100_000)
        let loading = try peer.open(stage.disk.path, .bulk)
        try await loading.load(entries, count: count)
        try loading.settle()
        try loading.close()
        store = try peer.open(stage.disk.path, BenchmarkStoreOptions())
        session = try store.session()
        try session.beginReading()
        // Every payload is read once to warm all caches.
        var sum: UInt64 = 0
        for index in 0..<UInt64(count) { sum &+= try session.read(entries.key(index)) }
        sink(sum)
    }

    func run(round: Int) async throws -> Sample {
        let drawn = entries.drawn(from: count, draw: UInt64(round + 1))
        var sum: UInt64 = 0
        let start = now()
        for index in 0..<UInt64(gets) { sum &+= try session.read(drawn.key(index)) }
        let elapsed = seconds(since: start)
        sink(sum)
        return Sample(Double(gets) / elapsed)
    }

    func finish() throws {
        session.close()
        try store.close()
    }
}
