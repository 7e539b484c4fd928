import CLMDB

/// LMDB as an in-memory tree: the file is on a memory file system, mapped for writing, and not
/// synced.
final class LMDBTree: OrderedTree {
    static let peer = TreePeer(name: "lmdb") { try LMDBTree($0) }

    private let environment: LMDBEnvironment
    private var writer: OpaquePointer?
    private var reader: OpaquePointer?

    private init(_ directory: String) throws {
        environment = try LMDBEnvironment(
            directory, flags: MDB_WRITEMAP | MDB_NOSYNC | MDB_NOTLS)
    }

    func insert(_ entries: Entries, count: Int) throws {
        let transaction = try environment.begin()
        writer = transaction
        for index in 0..<UInt64(count) {
            try entries.key(index).withBytes { key throws in
                try withUnsafeBytes(of: index) { try environment.put(key, $0, in: transaction) }
            }
        }
    }

    func publish() throws {
        guard let writer else { return }
        self.writer = nil
        try environment.check("commit", mdb_txn_commit(writer))
    }

    func find(_ entries: Entries, count: Int) throws -> UInt64 {
        let transaction = try reading()
        var sum: UInt64 = 0
        for index in 0..<UInt64(count) {
            sum &+= try entries.key(index).withBytes { key throws in
                var wanted = MDB_val(borrowing: key)
                var found = MDB_val()
                guard mdb_get(transaction, environment.table, &wanted, &found) == MDB_SUCCESS
                else { throw StoreFailure.missingKey }
                return found.number
            }
        }
        return sum
    }

    func walk(_ entries: Entries, count: Int, length: Int) throws -> UInt64 {
        let cursor = try cursor()
        defer { mdb_cursor_close(cursor) }
        var sum: UInt64 = 0
        for index in 0..<UInt64(count) {
            var key = MDB_val()
            var value = MDB_val()
            var status = entries.key(index).withBytes { wanted in
                key = MDB_val(borrowing: wanted)
                return mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
            }
            var passed = 0
            while status == MDB_SUCCESS {
                sum &+= value.number &+ key.lastByte
                passed += 1
                guard passed < length else { break }
                status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
        }
        return sum
    }

    func count(from lower: Key) throws -> Int {
        let cursor = try cursor()
        defer { mdb_cursor_close(cursor) }
        var value = MDB_val()
        var status = lower.withBytes { key in
            var wanted = MDB_val(borrowing: key)
            return mdb_cursor_get(cursor, &wanted, &value, MDB_SET_RANGE)
        }
        var count = 0
        var key = MDB_val()
        while status == MDB_SUCCESS {
            count += 1
            status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        return count
    }

    func takeSnapshots(_ count: Int) throws -> UInt64 {
        // Renewing a reset transaction is the cheapest snapshot in LMDB.
        let transaction = try environment.begin(isReadOnly: true)
        defer { mdb_txn_abort(transaction) }
        var sum: UInt64 = 0
        for _ in 0..<count {
            mdb_txn_reset(transaction)
            try environment.check("renew", mdb_txn_renew(transaction))
            sum &+= UInt64(mdb_txn_id(transaction))
        }
        return sum
    }

    func byteCount() throws -> Int {
        try environment.byteCount()
    }

    func close() {
        if let writer { mdb_txn_abort(writer) }
        if let reader { mdb_txn_abort(reader) }
        (writer, reader) = (nil, nil)
        environment.close()
    }

    private func reading() throws -> OpaquePointer {
        if let reader { return reader }
        let transaction = try environment.begin(isReadOnly: true)
        reader = transaction
        return transaction
    }

    private func cursor() throws -> OpaquePointer {
        var cursor: OpaquePointer?
        try environment.check(
            "open a cursor", mdb_cursor_open(try reading(), environment.table, &cursor))
        guard let cursor else { throw StoreFailure(description: "LMDB cannot create a cursor") }
        return cursor
    }
}

extension MDB_val {
    /// The value of a tree entry.
    @inline(__always)
    fileprivate var number: UInt64 {
        mv_data?.loadUnaligned(as: UInt64.self) ?? 0
    }

    /// The last byte of a tree key.
    @inline(__always)
    fileprivate var lastByte: UInt64 {
        UInt64(mv_data?.load(fromByteOffset: Key.size - 1, as: UInt8.self) ?? 0)
    }
}
