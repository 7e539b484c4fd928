import BenchHarness
import BenchStores
import SheafDocument

/// DuckDB tables with typed columns and primary keys, in memory.
final class DuckDBTables: TableSystem {
    private let process: DuckDBProcess
    private var queries: [TableQuery] = []

    init(_ tables: [FlatTable], _ stage: Stage) throws {
        process = try DuckDBProcess()
        for table in tables {
            let path = "\(stage.memory.path)/\(table.name).jsonl"
            try TextFile.write(
                table.rows.lazy.map { Value.object(table.object($0)).json + "\n" }.joined(),
                to: path)
            try process.execute(table.duckDBTable, table.duckDBLoad(from: path))
        }
        try process.execute("ANALYZE")
    }

    func prepare(_ query: TableQuery, _ sets: [[String: Value]]) throws {
        try process.prepare("\(queries.count)", query.duckDB, sets)
        queries.append(query)
    }

    func rows(of query: Int, set: Int) throws -> TableRows {
        let (columns, rows, changed) = try process.rows(of: "\(query)", set: set)
        guard queries[query].isWriting else { return TableRows(columns: columns, rows: rows) }
        return TableRows(columns: [], rows: [], changed: changed)
    }

    func time(_ query: Int, runs: Int) throws -> Double {
        try process.time("\(query)", runs: runs)
    }

    func close() { process.end() }
}
