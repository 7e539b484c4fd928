import BenchHarness
import SheafDocument

/// SQLite tables with a column for each field, indexes, and prepared statements.
final class SQLiteTables: TableSystem {
    private let database: SQLiteDatabase
    private var queries: [(statement: SQLiteStatement, sets: [[Value]])] = []

    init(_ tables: [FlatTable], _ stage: Stage) throws {
        database = try SQLiteDatabase("\(stage.memory.path)/tables.sqlite", isDurable: true)
        try database.execute("BEGIN")
        for table in tables {
            try database.execute(table.sqliteTable)
            let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
            let insertion = try database.prepare(sql: "INSERT INTO \(table.name) VALUES(\(marks))")
            for row in table.rows { _ = try insertion.run(row) { _ in } }
            for statement in table.sqliteIndexes { try database.execute(statement) }
        }
        try database.execute("COMMIT")
        try database.execute("ANALYZE")
    }

    func prepare(_ query: TableQuery, _ sets: [[String: Value]]) throws {
        let statement = try database.prepare(sql: query.sql)
        queries.append((statement, sets.map { statement.values(of: $0) }))
    }

    func rows(of query: Int, set: Int) throws -> TableRows {
        let (statement, sets) = queries[query]
        var rows: [[Value]] = []
        _ = try statement.run(sets[set]) { rows.append($0.row) }
        return TableRows(
            columns: statement.columns, rows: rows,
            changed: statement.columns.isEmpty ? database.changes : 0)
    }

    func time(_ query: Int, runs: Int) throws -> Double {
        let (statement, sets) = queries[query]
        var sum: UInt64 = 0
        let start = now()
        for _ in 0..<runs {
            for values in sets { _ = try statement.run(values) { sum &+= $0.checksum } }
        }
        let elapsed = seconds(since: start)
        sink(sum)
        return elapsed
    }

    func close() {
        queries = []
        database.close()
    }
}
