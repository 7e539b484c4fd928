import BenchHarness
import BenchStores
import CSQLite

/// An in-memory SQLite table with watchers, as an application without observers writes them.
///
/// An update hook marks the table as changed. After the change, the statements of all watchers of
/// the table run again, in order, and a watcher whose rows differ from its earlier ones is called.
final class HookedSQLite {
    private let connection: SQLiteConnection
    private let change: OpaquePointer
    /// The statement of all watchers, whose arguments differ.
    private let selection: OpaquePointer
    private var watchers: [(argument: Int, digest: UInt64)]
    private let isChanged: UnsafeMutablePointer<Bool>

    /// Creates a table with documents, and a watcher for each argument of a statement.
    init(documents: Int, watching sql: String, arguments: [Int]) throws {
        connection = try SQLiteConnection(":memory:", BenchmarkStoreOptions(isDurable: true))
        isChanged = .allocate(capacity: 1)
        isChanged.initialize(to: false)
        try connection.execute(
            """
            CREATE TABLE cars(_id INTEGER PRIMARY KEY, n INTEGER, mileage INTEGER, color TEXT, \
            make TEXT, model TEXT, year INTEGER)
            """)
        try connection.execute(
            """
            WITH RECURSIVE numbers(id) AS \
            (SELECT 0 UNION ALL SELECT id + 1 FROM numbers WHERE id + 1 < \(documents)) \
            INSERT INTO cars SELECT id, id, 0, 'blue', 'Horch', '901', 1935 FROM numbers
            """)
        try connection.execute("CREATE INDEX n ON cars(n)")
        change = try connection.prepare("UPDATE cars SET mileage = ? WHERE _id = ?")
        selection = try connection.prepare(sql)
        watchers = arguments.map { ($0, 0) }
        for index in watchers.indices { watchers[index].digest = try digest(index) }
        connection.markChanges(at: isChanged)
    }

    /// Updates a document; returns the nanoseconds until the last watcher was called.
    func change(_ id: Int, to mileage: Int) throws -> UInt64 {
        let start = now()
        sqlite3_bind_int64(change, 1, Int64(mileage))
        sqlite3_bind_int64(change, 2, Int64(id))
        let status = sqlite3_step(change)
        sqlite3_reset(change)
        guard status == SQLITE_DONE else { throw connection.failure("update") }
        var end = start
        guard isChanged.pointee else { return end }
        isChanged.pointee = false
        for index in watchers.indices {
            let digest = try digest(index)
            guard digest != watchers[index].digest else { continue }
            watchers[index].digest = digest
            sink(digest)
            end = now()
        }
        guard end > start else { throw StoreFailure(description: "no watcher was called") }
        return end - start
    }

    /// Runs the statement of a watcher; returns a number that depends on all values.
    private func digest(_ index: Int) throws -> UInt64 {
        sqlite3_bind_int64(selection, 1, Int64(watchers[index].argument))
        defer { sqlite3_reset(selection) }
        var digest: UInt64 = 0
        let columns = sqlite3_column_count(selection)
        while sqlite3_step(selection) == SQLITE_ROW {
            for column in 0..<columns {
                let value =
                    sqlite3_column_type(selection, column) == SQLITE_TEXT
                    ? UInt64(sqlite3_column_text(selection, column)[0])
                    : UInt64(bitPattern: sqlite3_column_int64(selection, column))
                digest = digest &* 0x9E37_79B9_7F4A_7C15 &+ value
            }
        }
        return digest
    }

    func close() {
        sqlite3_finalize(change)
        sqlite3_finalize(selection)
        connection.close()
        isChanged.deallocate()
    }
}

/// Consecutive changes of a table with watchers, each of which calls some of them.
final class HookedTrial: Trial {
    private let table: HookedSQLite
    private let changes: Int
    private let changed: ClosedRange<Int>
    private var mileage = 0

    private init(_ table: HookedSQLite, changes: Int, changed: ClosedRange<Int>) {
        self.table = table
        self.changes = changes
        self.changed = changed
    }

    /// Creates a trial with watchers of one document each; the one in the middle is called.
    static func points(_ stage: Stage, watchers: Int) throws -> HookedTrial {
        let table = try HookedSQLite(
            documents: max(watchers, 10_000), watching: "SELECT * FROM cars WHERE _id = ?",
            arguments: Array(0..<watchers))
        // All statements run again after each change, so there are fewer changes of more watchers.
        let changes = min(stage.scale.pick(4_000, quick: 400), 2_000_000 / watchers)
        return HookedTrial(table, changes: changes, changed: watchers / 2...watchers / 2)
    }

    /// Creates a trial with one watcher of 1,000 ordered rows.
    static func range(_ stage: Stage) throws -> HookedTrial {
        let table = try HookedSQLite(
            documents: 10_000, watching: "SELECT * FROM cars WHERE n >= 0 AND n < ? ORDER BY n",
            arguments: [1_000])
        return HookedTrial(
            table, changes: stage.scale.pick(4_000, quick: 400), changed: 0...999)
    }

    /// Returns the median microseconds from a write to the call of the watcher.
    func run(round: Int) throws -> Sample {
        var latencies: [UInt64] = []
        for _ in 0..<changes {
            mileage += 1
            let id = changed.lowerBound + mileage % changed.count
            latencies.append(try table.change(id, to: mileage))
        }
        return Sample(FanoutTrial.median(latencies), latencies: latencies)
    }

    func finish() { table.close() }
}

/// The time per watcher of changes that call 1,000 watchers, compared with one.
final class HookedAllTrial: Trial {
    private static let watchers = 1_000
    private let (one, many): (HookedSQLite, HookedSQLite)
    private let changes: Int
    private var mileage = 0

    init(_ stage: Stage) throws {
        changes = stage.scale.pick(400, quick: 40)
        let sql = "SELECT * FROM cars WHERE _id = ?"
        one = try HookedSQLite(documents: 100, watching: sql, arguments: [7])
        many = try HookedSQLite(
            documents: 100, watching: sql, arguments: Array(repeating: 7, count: Self.watchers))
    }

    /// Returns the microseconds added by each watcher after the first.
    func run(round: Int) throws -> Sample {
        var (alone, together): ([UInt64], [UInt64]) = ([], [])
        for _ in 0..<changes {
            mileage += 1
            alone.append(try one.change(7, to: mileage))
            together.append(try many.change(7, to: mileage))
        }
        let difference = FanoutTrial.median(together) - FanoutTrial.median(alone)
        return Sample(difference / Double(Self.watchers - 1))
    }

    func finish() {
        one.close()
        many.close()
    }
}
