import BenchStores
import CSQLite

/// Cars as JSON texts in SQLite: WAL, one sync per commit, prepared statements, mapped pages.
final class SQLiteCars: CarBenchmarkStore {
    static let peer = CarPeer(name: "sqlite", blocks: true) { directory, isDurable, hasIndex in
        try SQLiteCars("\(directory)/cars.sqlite", isDurable: isDurable, hasIndex: hasIndex)
    }

    private let path: String
    private let options: BenchmarkStoreOptions

    init(_ path: String, isDurable: Bool, hasIndex: Bool) throws {
        self.path = path
        options = BenchmarkStoreOptions(isDurable: isDurable)
        let connection = try SQLiteConnection(path, options)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute(
            "CREATE TABLE IF NOT EXISTS cars(id TEXT PRIMARY KEY, doc TEXT) WITHOUT ROWID")
        guard hasIndex else { return }
        try connection.execute(
            "CREATE INDEX IF NOT EXISTS mileage ON cars(json_extract(doc, '$.mileage'))")
    }

    func session() throws -> any CarSession { try blockingSession() }

    /// Opens a session whose calls block the thread.
    func blockingSession() throws -> SQLiteCarSession { try SQLiteCarSession(path, options) }

    // The last connection to close checkpoints the WAL.
    func close() {}
}

final class SQLiteCarSession: CarSession {
    private let connection: SQLiteConnection
    private let insertion: OpaquePointer
    private let selection: OpaquePointer
    private let change: OpaquePointer
    private let deletion: OpaquePointer

    init(_ path: String, _ options: BenchmarkStoreOptions) throws {
        connection = try SQLiteConnection(path, options)
        try connection.execute("PRAGMA mmap_size=1073741824")
        insertion = try connection.prepare("INSERT INTO cars VALUES(?, ?)")
        selection = try connection.prepare("SELECT doc FROM cars WHERE id = ?")
        change = try connection.prepare(
            "UPDATE cars SET doc = json_set(doc, '$.mileage', ?2) WHERE id = ?1")
        deletion = try connection.prepare("DELETE FROM cars WHERE id = ?")
    }

    func get(_ cars: PreparedCars, _ indices: ArraySlice<Int>) async throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            sum &+= try withText(cars.ids[index]) { id in
                sqlite3_bind_text(selection, 1, id.baseAddress, Int32(id.count), nil)
                defer { sqlite3_reset(selection) }
                guard sqlite3_step(selection) == SQLITE_ROW,
                    let text = sqlite3_column_text(selection, 0)
                else { throw StoreFailure.missingKey }
                return UInt64(text[0]) &+ UInt64(sqlite3_column_bytes(selection, 0))
            }
        }
        return sum
    }

    func insert(_ cars: PreparedCars, _ index: Int) async throws {
        try insertBlocking(cars, index)
    }

    /// Inserts one car, durably unless a transaction is open.
    func insertBlocking(_ cars: PreparedCars, _ index: Int) throws {
        try withText(cars.ids[index]) { id in
            try withText(cars.texts[index]) { text in
                sqlite3_bind_text(insertion, 1, id.baseAddress, Int32(id.count), nil)
                sqlite3_bind_text(insertion, 2, text.baseAddress, Int32(text.count), nil)
                try run(insertion)
            }
        }
    }

    func insert(_ cars: PreparedCars, _ indices: Range<Int>) async throws {
        try connection.execute("BEGIN IMMEDIATE")
        for index in indices { try insertBlocking(cars, index) }
        try connection.execute("COMMIT")
    }

    func update(_ cars: PreparedCars, _ indices: ArraySlice<Int>, mileage: Int) async throws {
        try connection.execute("BEGIN IMMEDIATE")
        for index in indices {
            try withText(cars.ids[index]) { id in
                sqlite3_bind_text(change, 1, id.baseAddress, Int32(id.count), nil)
                sqlite3_bind_int64(change, 2, Int64((mileage &+ index) % 200_000))
                try run(change)
            }
        }
        try connection.execute("COMMIT")
    }

    func delete(_ cars: PreparedCars, _ indices: Range<Int>) async throws {
        try connection.execute("BEGIN IMMEDIATE")
        for index in indices {
            try withText(cars.ids[index]) { id in
                sqlite3_bind_text(deletion, 1, id.baseAddress, Int32(id.count), nil)
                try run(deletion)
            }
        }
        try connection.execute("COMMIT")
    }

    /// Runs a writing statement, retrying while another connection holds the lock.
    private func run(_ statement: OpaquePointer) throws {
        var status = sqlite3_step(statement)
        sqlite3_reset(statement)
        while status == SQLITE_BUSY {
            status = sqlite3_step(statement)
            sqlite3_reset(statement)
        }
        guard status == SQLITE_DONE else { throw connection.failure("write") }
    }

    /// Passes the bytes of a text, which are bound without a copy.
    private func withText<Result>(
        _ text: String, _ body: (UnsafeBufferPointer<CChar>) throws -> Result
    ) throws -> Result {
        let result = try text.utf8.withContiguousStorageIfAvailable { bytes in
            try bytes.withMemoryRebound(to: CChar.self, body)
        }
        guard let result else { throw StoreFailure(description: "the text is not contiguous") }
        return result
    }

    func close() {
        for statement in [insertion, selection, change, deletion] { sqlite3_finalize(statement) }
        connection.close()
    }
}
