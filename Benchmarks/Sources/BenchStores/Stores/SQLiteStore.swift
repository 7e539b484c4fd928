import CSQLite
import Glibc

/// SQLite with durable commits: WAL, and a sync on each commit.
final class SQLiteStore: BenchmarkStore {
    static let peer = BenchmarkPeer(name: "sqlite") { directory, options in
        try SQLiteStore(path: "\(directory)/store.sqlite", options)
    }

    // A random load in small transactions would take most of the run.
    let bulkSize = Int.max
    private let path: String
    private let options: BenchmarkStoreOptions

    private init(path: String, _ options: BenchmarkStoreOptions) throws {
        self.path = path
        self.options = options
        guard access(path, F_OK) != 0 else { return }
        let connection = try SQLiteConnection(path, options)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute(
            "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")
    }

    func session() throws -> any StoreSession {
        try SQLiteSession(path, options)
    }

    func settle() throws {
        let connection = try SQLiteConnection(path, options)
        defer { connection.close() }
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // The last connection to close checkpoints the WAL.
    func close() {}
}

/// A connection with prepared statements.
private final class SQLiteSession: BlockingSession {
    private let connection: SQLiteConnection
    private let put: OpaquePointer
    private let get: OpaquePointer

    init(_ path: String, _ options: BenchmarkStoreOptions) throws {
        connection = try SQLiteConnection(path, options)
        put = try connection.prepare("REPLACE INTO kv VALUES(?, ?)")
        get = try connection.prepare("SELECT v FROM kv WHERE k = ?")
    }

    func commitBlocking(_ entries: Entries, _ indices: Range<UInt64>) throws {
        let isAlone = indices.count == 1
        if !isAlone { try connection.execute("BEGIN IMMEDIATE") }
        for index in indices {
            let payload = entries.payload(index)
            try entries.key(index).withBytes { key throws in
                sqlite3_bind_blob(put, 1, key.baseAddress, Int32(key.count), nil)
                sqlite3_bind_blob(put, 2, payload.baseAddress, Int32(payload.count), nil)
                var status = sqlite3_step(put)
                sqlite3_reset(put)
                while status == SQLITE_BUSY {
                    status = sqlite3_step(put)
                    sqlite3_reset(put)
                }
                guard status == SQLITE_DONE else { throw connection.failure("put") }
            }
        }
        if !isAlone { try connection.execute("COMMIT") }
    }

    func beginReading() throws {
        // Reads use the mapped file, the fastest way SQLite offers.
        try connection.execute("PRAGMA mmap_size=1073741824")
        try connection.execute("BEGIN")
    }

    func read(_ key: Key) throws -> UInt64 {
        try key.withBytes { key throws in
            sqlite3_bind_blob(get, 1, key.baseAddress, Int32(key.count), nil)
            defer { sqlite3_reset(get) }
            guard sqlite3_step(get) == SQLITE_ROW, let payload = sqlite3_column_blob(get, 0) else {
                throw StoreFailure.missingKey
            }
            return UInt64(payload.load(as: UInt8.self)) + UInt64(sqlite3_column_bytes(get, 0))
        }
    }

    func close() {
        sqlite3_finalize(put)
        sqlite3_finalize(get)
        connection.close()
    }
}

/// A connection to an SQLite database.
package final class SQLiteConnection {
    private let handle: OpaquePointer

    /// Opens a database and sets the pragmas common to all cases.
    package init(_ path: String, _ options: BenchmarkStoreOptions) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let status = sqlite3_open_v2(path, &opened, flags, nil)
        guard status == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw StoreFailure(description: "SQLite cannot open \(path): status \(status)")
        }
        handle = opened
        sqlite3_busy_timeout(handle, 60_000)
        try execute("PRAGMA synchronous=\(options.isDurable ? "FULL" : "OFF")")
        // In a bulk load that fits in the cache, every page is written once.
        if !options.isDurable { try execute("PRAGMA cache_size=-1048576") }
        if options.staysInLog {
            try execute("PRAGMA wal_autocheckpoint=0")
            guard sheaf_bench_sqlite_keep_log(handle) == SQLITE_OK else {
                throw failure("disable checkpoints")
            }
        }
    }

    /// Executes statements and ignores their rows.
    package func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    /// Compiles a statement; the caller finalizes it.
    package func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement
        else { throw failure(sql) }
        return statement
    }

    /// Sets a flag whenever a row is inserted, updated or deleted, until the connection is closed.
    package func markChanges(at flag: UnsafeMutablePointer<Bool>) {
        sqlite3_update_hook(
            handle,
            { context, _, _, _, _ in
                context?.assumingMemoryBound(to: Bool.self).pointee = true
            }, flag)
    }

    /// The number of rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes(handle)) }

    /// Executes a statement with texts as parameters.
    package func bind(_ statement: OpaquePointer, _ texts: [String]) throws {
        defer { sqlite3_reset(statement) }
        for (index, text) in texts.enumerated() {
            // The text is copied.
            let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            sqlite3_bind_text(statement, Int32(index + 1), text, -1, copies)
        }
        guard sqlite3_step(statement) == SQLITE_DONE else { throw failure("run a statement") }
    }

    /// Starts a session that records changes to a table.
    package func session(on table: String) throws -> OpaquePointer {
        var session: OpaquePointer?
        guard sqlite3session_create(handle, "main", &session) == SQLITE_OK, let session,
            sqlite3session_attach(session, table) == SQLITE_OK
        else { throw failure("record a session") }
        return session
    }

    /// Applies a changeset; a conflict fails.
    package func apply(_ changeset: UnsafeMutableRawPointer?, _ length: Int32) throws {
        let status = sqlite3changeset_apply(
            handle, length, changeset, nil, { _, _, _ in SQLITE_CHANGESET_ABORT }, nil)
        guard status == SQLITE_OK else { throw failure("apply a changeset") }
    }

    /// Returns an error with the message of the last failed call.
    package func failure(_ attempt: String) -> StoreFailure {
        StoreFailure(description: "SQLite, \(attempt): \(String(cString: sqlite3_errmsg(handle)))")
    }

    /// Closes the connection; its statements must have been finalized.
    package func close() {
        sqlite3_close_v2(handle)
    }
}
