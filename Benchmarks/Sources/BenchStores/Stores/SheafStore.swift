import SheafStorage

/// The log store of the engine.
package final class SheafStore: BenchmarkStore {
    static let peer = BenchmarkPeer(name: "sheaf") { directory, options in
        try SheafStore(directory, options)
    }

    /// The engine without compaction, which shows the cost of commits alone.
    static let uncompactedPeer = BenchmarkPeer(name: "sheaf-uncompacted") { directory, options in
        try SheafStore(directory, options, compacts: false)
    }

    let bulkSize = 1_000
    private let store: LogStore

    private init(
        _ directory: String, _ options: BenchmarkStoreOptions, compacts: Bool = true
    ) throws {
        var settings = LogStoreOptions()
        if !options.isDurable { settings.durability = .relaxed(milliseconds: 100) }
        // Without checkpoints, opening replays the log.
        if options.staysInLog { settings.checkpointLength = .max }
        // The log never has this amount of garbage, so it is not compacted.
        if !compacts { settings.freeGarbage = .max / 2 }
        store = try LogStore.open(at: directory, options: settings)
    }

    func session() -> any StoreSession {
        SheafSession(store)
    }

    func settle() {}

    func close() throws {
        try store.close()
    }
}

private final class SheafSession: StoreSession {
    private let store: LogStore
    private var snapshot: LogSnapshot?

    init(_ store: LogStore) {
        self.store = store
    }

    func commit(_ entries: Entries, _ indices: Range<UInt64>) async throws {
        var batch = WriteBatch()
        batch.reserve(indices.count * (Key.size + Entries.payloadSize + 16))
        for index in indices {
            let payload = entries.payload(index)
            try entries.key(index).withBytes { key throws in try batch.put(key, payload) }
        }
        try await store.waitForDurability(of: store.append(batch))
    }

    func beginReading() {
        snapshot = store.snapshot()
    }

    func read(_ key: Key) throws -> UInt64 {
        let snapshot = snapshot ?? store.snapshot()
        let payload = try key.withBytes { key throws in try snapshot.payload(of: key) }
        guard let payload, let first = payload.first else { throw StoreFailure.missingKey }
        return UInt64(first) + UInt64(payload.count)
    }

    func close() {
        snapshot = nil
    }
}
