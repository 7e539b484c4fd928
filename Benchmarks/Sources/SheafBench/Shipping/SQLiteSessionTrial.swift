import BenchHarness
import BenchStores
import CSQLite

/// SQLite's session extension: recording changes, creating a changeset, and applying it elsewhere.
final class SQLiteSessionTrial: Trial {
    private let directory: String
    private let source: SQLiteConnection
    private let session: OpaquePointer
    private let count: Int

    /// Fills a table while a session records the changes.
    init(_ stage: Stage) throws {
        directory = stage.disk.path
        count = ShippingTrial.documents(stage)
        source = try Self.database("\(directory)/source.sqlite")
        session = try source.session(on: "cars")
        try source.execute("BEGIN")
        let insert = try source.prepare("INSERT INTO cars VALUES (?, ?)")
        defer { sqlite3_finalize(insert) }
        for number in 0..<UInt64(count) {
            try source.bind(insert, [Cars.id(number), Cars.text(number)])
        }
        try source.execute("COMMIT")
    }

    private static func database(_ path: String) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path, BenchmarkStoreOptions(isDurable: true))
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("CREATE TABLE cars(id TEXT PRIMARY KEY, car TEXT)")
        return connection
    }

    /// Returns documents per second for creating the changeset and applying it in one transaction.
    func run(round: Int) async throws -> Sample {
        let other = try Self.database("\(directory)/other-\(round).sqlite")
        defer { other.close() }
        let start = now()
        var length: Int32 = 0
        var changeset: UnsafeMutableRawPointer?
        guard sqlite3session_changeset(session, &length, &changeset) == SQLITE_OK else {
            throw source.failure("make a changeset")
        }
        defer { sqlite3_free(changeset) }
        try other.apply(changeset, length)
        return Sample(Double(count) / (Double(now() - start) / 1_000_000_000))
    }

    func finish() {
        sqlite3session_delete(session)
        source.close()
    }
}
