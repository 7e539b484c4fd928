import BenchHarness

/// The maximum directory size of a store whose entries are replaced repeatedly.
final class SpaceTrial: Trial {
    private static let batch: UInt64 = 100
    /// The number of commits between measurements of the directory.
    private static let interval: UInt64 = 50
    private let store: any BenchmarkStore
    private let session: any StoreSession
    private let entries: Entries
    private let count: Int
    private let times: Int
    private let directory: Folder
    /// The largest directory size, as a multiple of the live keys and payloads.
    private var worst: Double?

    /// Fills a store with the entries that are replaced.
    init(_ peer: BenchmarkPeer, _ stage: Stage) async throws {
        entries = Entries(.random)
        count = stage.scale.pick(100_000, quick: 20_000)
        times = stage.scale.pick(20, quick: 4)
        directory = stage.disk
        let loading = try peer.open(stage.disk.path, .bulk)
        try await loading.load(entries, count: count)
        try loading.close()
        store = try peer.open(stage.disk.path, BenchmarkStoreOptions())
        session = try store.session()
    }

    /// Does the work in the first round; later rounds return the same value.
    func run(round: Int) async throws -> Sample {
        if let worst { return Sample(worst) }
        let drawn = entries.drawn(from: count, draw: 1)
        let live = Double(count * (Key.size + Entries.payloadSize))
        var largest = 0
        for number in 0..<UInt64(count * times) / Self.batch {
            let first = number * Self.batch
            try await session.commit(drawn, first..<first + Self.batch)
            guard number % Self.interval == 0 else { continue }
            largest = max(largest, directory.size)
        }
        let found = Double(largest) / live
        worst = found
        return Sample(found)
    }

    func finish() throws {
        session.close()
        try store.close()
    }
}
