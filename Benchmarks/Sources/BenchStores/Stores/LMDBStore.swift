import CLMDB

/// LMDB with its defaults: two flushes per commit, one writer at a time.
final class LMDBStore: BenchmarkStore {
    static let peer = BenchmarkPeer(name: "lmdb") { directory, options in
        try LMDBStore(directory, options)
    }

    let bulkSize = Int.max
    private let environment: LMDBEnvironment

    private init(_ directory: String, _ options: BenchmarkStoreOptions) throws {
        let flags = options.isDurable ? MDB_NOTLS : MDB_NOTLS | MDB_NOSYNC
        environment = try LMDBEnvironment(directory, flags: flags)
    }

    func session() throws -> any StoreSession {
        LMDBSession(environment)
    }

    func settle() throws {
        try environment.synchronize()
    }

    func close() throws {
        try environment.synchronize()
        environment.close()
    }
}

private final class LMDBSession: BlockingSession {
    private let environment: LMDBEnvironment
    private var reader: OpaquePointer?

    init(_ environment: LMDBEnvironment) {
        self.environment = environment
    }

    func commitBlocking(_ entries: Entries, _ indices: Range<UInt64>) throws {
        let transaction = try environment.begin()
        for index in indices {
            try entries.key(index).withBytes { key throws in
                try environment.put(key, entries.payload(index), in: transaction)
            }
        }
        try environment.check("commit", mdb_txn_commit(transaction))
    }

    func beginReading() throws {
        reader = try environment.begin(isReadOnly: true)
    }

    func read(_ key: Key) throws -> UInt64 {
        // A read outside a snapshot opens its own transaction.
        let transaction = try reader ?? environment.begin(isReadOnly: true)
        defer { if reader == nil { mdb_txn_abort(transaction) } }
        return try key.withBytes { key throws in
            var wanted = MDB_val(borrowing: key)
            var found = MDB_val()
            guard mdb_get(transaction, environment.table, &wanted, &found) == MDB_SUCCESS,
                let payload = found.mv_data
            else { throw StoreFailure.missingKey }
            return UInt64(payload.load(as: UInt8.self)) + UInt64(found.mv_size)
        }
    }

    func close() {
        if let reader { mdb_txn_abort(reader) }
        reader = nil
    }
}
