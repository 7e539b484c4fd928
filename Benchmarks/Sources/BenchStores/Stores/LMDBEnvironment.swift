package import CLMDB

/// An open LMDB environment with one table.
package final class LMDBEnvironment: Sendable {
    nonisolated(unsafe) private let handle: OpaquePointer
    /// The table of all entries.
    package let table: MDB_dbi

    /// Reserved address space, more than any case writes.
    private static let mapSize = 16 << 30

    /// Opens the environment in a directory, creating it if necessary.
    package init(_ directory: String, flags: Int32) throws {
        var opened: OpaquePointer?
        mdb_env_create(&opened)
        guard let opened else { throw StoreFailure(description: "LMDB: out of memory") }
        mdb_env_set_mapsize(opened, Self.mapSize)
        let status = mdb_env_open(opened, directory, UInt32(bitPattern: flags), 0o644)
        guard status == MDB_SUCCESS else {
            mdb_env_close(opened)
            throw Self.failure("open", status)
        }
        handle = opened
        var transaction: OpaquePointer?
        var table = MDB_dbi()
        guard mdb_txn_begin(opened, nil, 0, &transaction) == MDB_SUCCESS,
            mdb_dbi_open(transaction, nil, 0, &table) == MDB_SUCCESS,
            mdb_txn_commit(transaction) == MDB_SUCCESS
        else {
            mdb_env_close(opened)
            throw StoreFailure(description: "LMDB cannot open the table")
        }
        self.table = table
    }

    /// Starts a transaction, which the caller ends.
    package func begin(isReadOnly: Bool = false) throws -> OpaquePointer {
        let flags = isReadOnly ? UInt32(MDB_RDONLY) : 0
        var transaction: OpaquePointer?
        try check("begin", mdb_txn_begin(handle, nil, flags, &transaction))
        guard let transaction else { throw Self.failure("begin", MDB_BAD_TXN) }
        return transaction
    }

    /// Puts one entry.
    @inline(__always)
    package func put(
        _ key: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer,
        in transaction: OpaquePointer
    ) throws {
        var key = MDB_val(borrowing: key)
        var payload = MDB_val(borrowing: payload)
        try check("put", mdb_put(transaction, table, &key, &payload, 0))
    }

    /// Throws unless the status is success.
    @inline(__always)
    package func check(_ attempt: String, _ status: Int32) throws {
        guard status == MDB_SUCCESS else { throw Self.failure(attempt, status) }
    }

    /// Returns the number of file bytes ever used.
    func byteCount() throws -> Int {
        var info = MDB_envinfo()
        var status = MDB_stat()
        try check("info", mdb_env_info(handle, &info))
        try check("stat", mdb_env_stat(handle, &status))
        return (info.me_last_pgno + 1) * Int(status.ms_psize)
    }

    /// Flushes all writes to the disk.
    package func synchronize() throws {
        try check("sync", mdb_env_sync(handle, 1))
    }

    /// Closes the environment; its transactions must have ended.
    package func close() {
        mdb_env_close(handle)
    }

    private static func failure(_ attempt: String, _ status: Int32) -> StoreFailure {
        StoreFailure(description: "LMDB, \(attempt): \(String(cString: mdb_strerror(status)))")
    }
}

extension MDB_val {
    /// References `bytes`, which must outlive the value.
    @inline(__always)
    package init(borrowing bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
