import CLevelDB

/// LevelDB with its defaults, plus a block cache larger than the data and a Bloom filter.
final class LevelDBStore: BenchmarkStore {
    static let peer = BenchmarkPeer(name: "leveldb") { directory, options in
        try LevelDBStore(directory, options)
    }

    let bulkSize = 1_000
    nonisolated(unsafe) private let handle: OpaquePointer
    nonisolated(unsafe) private let cache: OpaquePointer?
    nonisolated(unsafe) private let filter: OpaquePointer?
    private let options: BenchmarkStoreOptions

    private static let cacheSize = 512 << 20
    private static let bloomBits: Int32 = 10

    private init(_ directory: String, _ options: BenchmarkStoreOptions) throws {
        self.options = options
        let settings = leveldb_options_create()
        defer { leveldb_options_destroy(settings) }
        leveldb_options_set_create_if_missing(settings, 1)
        cache = leveldb_cache_create_lru(Self.cacheSize)
        leveldb_options_set_cache(settings, cache)
        filter = leveldb_filterpolicy_create_bloom(Self.bloomBits)
        leveldb_options_set_filter_policy(settings, filter)
        let opened = try leveldb("open") { leveldb_open(settings, directory, $0) }
        guard let opened else { throw StoreFailure(description: "LevelDB: no database") }
        handle = opened
    }

    func session() throws -> any StoreSession {
        LevelDBSession(handle, options)
    }

    func settle() throws {
        leveldb_compact_range(handle, nil, 0, nil, 0)
    }

    func close() {
        leveldb_close(handle)
        leveldb_cache_destroy(cache)
        leveldb_filterpolicy_destroy(filter)
    }
}

private final class LevelDBSession: BlockingSession {
    private let handle: OpaquePointer
    private let writeOptions = leveldb_writeoptions_create()
    private let readOptions = leveldb_readoptions_create()
    private let batch = leveldb_writebatch_create()
    private var snapshot: OpaquePointer?

    init(_ handle: OpaquePointer, _ options: BenchmarkStoreOptions) {
        self.handle = handle
        leveldb_writeoptions_set_sync(writeOptions, options.isDurable ? 1 : 0)
    }

    func commitBlocking(_ entries: Entries, _ indices: Range<UInt64>) throws {
        leveldb_writebatch_clear(batch)
        for index in indices {
            let payload = entries.payload(index)
            entries.key(index).withBytes { key in
                leveldb_writebatch_put(
                    batch, key.baseAddress, key.count, payload.baseAddress, payload.count)
            }
        }
        try leveldb("write") { leveldb_write(handle, writeOptions, batch, $0) }
    }

    func beginReading() throws {
        snapshot = leveldb_create_snapshot(handle)
        leveldb_readoptions_set_snapshot(readOptions, snapshot)
    }

    func read(_ key: Key) throws -> UInt64 {
        var size = 0
        let payload = try key.withBytes { key throws in
            try leveldb("get") {
                leveldb_get(handle, readOptions, key.baseAddress, key.count, &size, $0)
            }
        }
        guard let payload, size > 0 else { throw StoreFailure.missingKey }
        defer { leveldb_free(payload) }
        return UInt64(UInt8(bitPattern: payload[0])) + UInt64(size)
    }

    func close() {
        if let snapshot { leveldb_release_snapshot(handle, snapshot) }
        leveldb_writebatch_destroy(batch)
        leveldb_writeoptions_destroy(writeOptions)
        leveldb_readoptions_destroy(readOptions)
    }
}

/// Calls LevelDB and throws its error message, if any.
@inline(__always)
private func leveldb<Result>(
    _ attempt: String,
    _ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) throws -> Result {
    var message: UnsafeMutablePointer<CChar>?
    let result = call(&message)
    guard let message else { return result }
    defer { leveldb_free(message) }
    throw StoreFailure(description: "LevelDB, \(attempt): \(String(cString: message))")
}
