import CRocksDB

/// RocksDB with its defaults, plus a block cache larger than the data and a Bloom filter.
final class RocksDBStore: BenchmarkStore {
    static let peer = BenchmarkPeer(name: "rocksdb") { directory, options in
        try RocksDBStore(directory, options)
    }

    let bulkSize = 1_000
    nonisolated(unsafe) private let handle: OpaquePointer
    private let options: BenchmarkStoreOptions

    private static let cacheSize = 512 << 20
    private static let bloomBits = 10.0

    private init(_ directory: String, _ options: BenchmarkStoreOptions) throws {
        self.options = options
        let settings = rocksdb_options_create()
        defer { rocksdb_options_destroy(settings) }
        rocksdb_options_set_create_if_missing(settings, 1)
        let table = rocksdb_block_based_options_create()
        let cache = rocksdb_cache_create_lru(Self.cacheSize)
        rocksdb_block_based_options_set_block_cache(table, cache)
        let filter = rocksdb_filterpolicy_create_bloom_full(Self.bloomBits)
        rocksdb_block_based_options_set_filter_policy(table, filter)
        rocksdb_options_set_block_based_table_factory(settings, table)
        rocksdb_cache_destroy(cache)
        rocksdb_block_based_options_destroy(table)
        handle = try Self.open(directory, settings, options)
    }

    private static func open(
        _ directory: String, _ settings: OpaquePointer?, _ options: BenchmarkStoreOptions
    ) throws -> OpaquePointer {
        guard options.staysInLog else {
            return try rocksdb(directory) { rocksdb_open(settings, directory, $0) }
        }
        // One memory table holds the replayed log and is not flushed after recovery.
        let patient = rocksdb_options_create()
        defer { rocksdb_options_destroy(patient) }
        try rocksdbCheck("options") {
            rocksdb_get_options_from_string(
                settings, "avoid_flush_during_recovery=true;write_buffer_size=2147483648", patient,
                $0)
        }
        return try rocksdb(directory) { rocksdb_open(patient, directory, $0) }
    }

    func session() throws -> any StoreSession {
        RocksDBSession(handle, options)
    }

    func settle() throws {
        rocksdb_compact_range(handle, nil, 0, nil, 0)
    }

    func close() {
        rocksdb_close(handle)
    }
}

private final class RocksDBSession: BlockingSession {
    private let handle: OpaquePointer
    private let writeOptions = rocksdb_writeoptions_create()
    private let readOptions = rocksdb_readoptions_create()
    private let batch = rocksdb_writebatch_create()
    private var snapshot: OpaquePointer?

    init(_ handle: OpaquePointer, _ options: BenchmarkStoreOptions) {
        self.handle = handle
        rocksdb_writeoptions_set_sync(writeOptions, options.isDurable ? 1 : 0)
    }

    func commitBlocking(_ entries: Entries, _ indices: Range<UInt64>) throws {
        rocksdb_writebatch_clear(batch)
        for index in indices {
            let payload = entries.payload(index)
            entries.key(index).withBytes { key in
                rocksdb_writebatch_put(
                    batch, key.baseAddress, key.count, payload.baseAddress, payload.count)
            }
        }
        try rocksdbCheck("write") { rocksdb_write(handle, writeOptions, batch, $0) }
    }

    func beginReading() throws {
        snapshot = rocksdb_create_snapshot(handle)
        rocksdb_readoptions_set_snapshot(readOptions, snapshot)
    }

    func read(_ key: Key) throws -> UInt64 {
        let slice = try key.withBytes { key throws in
            try rocksdb("get") {
                rocksdb_get_pinned(handle, readOptions, key.baseAddress, key.count, $0)
            }
        }
        defer { rocksdb_pinnableslice_destroy(slice) }
        var size = 0
        guard let payload = rocksdb_pinnableslice_value(slice, &size), size > 0 else {
            throw StoreFailure.missingKey
        }
        return UInt64(UInt8(bitPattern: payload[0])) + UInt64(size)
    }

    func close() {
        if let snapshot { rocksdb_release_snapshot(handle, snapshot) }
        rocksdb_writebatch_destroy(batch)
        rocksdb_writeoptions_destroy(writeOptions)
        rocksdb_readoptions_destroy(readOptions)
    }
}

/// Calls RocksDB and throws its error message, if any.
@inline(__always)
private func rocksdbCheck<Result>(
    _ attempt: String,
    _ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) throws -> Result {
    var message: UnsafeMutablePointer<CChar>?
    let result = call(&message)
    guard let message else { return result }
    defer { rocksdb_free(message) }
    throw StoreFailure(description: "RocksDB, \(attempt): \(String(cString: message))")
}

/// Calls RocksDB for a pointer; nil means that the key is missing.
@inline(__always)
private func rocksdb(
    _ attempt: String,
    _ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> OpaquePointer?
) throws -> OpaquePointer {
    guard let result = try rocksdbCheck(attempt, call) else { throw StoreFailure.missingKey }
    return result
}
