import BenchHarness
import BenchStores
import BenchWorkloads
import SheafDocument

/// The repeated execution of one statement by DuckDB, with JSON texts or typed columns in memory.
final class DuckDBQueryTrial: Trial {
    private let process: DuckDBProcess
    private let query: QueryCase
    private let seconds: Double
    private static let statement = "query"

    init(
        _ stage: Stage, _ query: QueryCase, _ results: TableResults, hasColumns: Bool
    ) throws {
        self.query = query
        seconds = stage.scale.roundSeconds
        process = try DuckDBProcess()
        let cars = "\(stage.memory.path)/cars.jsonl"
        try DuckDBCars.write(QueryCars.count, to: cars)
        let orders = "\(stage.memory.path)/orders.jsonl"
        let lines = (0..<UInt64(QueryCars.orderCount)).map { index in
            #"{"n":\#(index),"doc":{"car":"\#(QueryCars.car(ofOrder: index))","#
                + #""amount":\#(QueryCars.amount(ofOrder: index))}}"#
        }
        try TextFile.write(lines.joined(separator: "\n"), to: orders)
        let source = "read_json('\(orders)', columns = {n: 'BIGINT', doc: 'JSON'})"
        if hasColumns {
            try process.execute(
                "CREATE TABLE cars AS \(DuckDBCars.columns(from: cars))",
                """
                CREATE TABLE orders AS SELECT n AS id, doc ->> '$.car' AS car, \
                CAST(doc ->> '$.amount' AS BIGINT) AS amount FROM \(source)
                """)
        } else {
            try process.execute(
                "CREATE TABLE cars AS SELECT id, doc FROM \(DuckDBCars.source(cars))",
                "CREATE TABLE orders AS SELECT n AS id, doc FROM \(source)")
        }
        try process.prepare(Self.statement, hasColumns ? query.columns : query.duckDB)
        let rows = try process.rows(of: Self.statement).rows
        try results.compare(query.comparable(rows), of: query.name)
    }

    func run(round: Int) throws -> Sample {
        Sample(try process.rate(Self.statement, seconds: seconds) * Double(query.weight))
    }

    func finish() { process.end() }
}

/// The cars in a file, from which DuckDB loads them.
enum DuckDBCars {
    /// Writes a line for each car: its number, its ID and its document.
    static func write(_ count: Int, to path: String) throws {
        let lines = (0..<UInt64(count)).map { index in
            #"{"n":\#(index),"id":"\#(Cars.id(index))","doc":\#(Cars.text(index))}"#
        }
        try TextFile.write(lines.joined(separator: "\n"), to: path)
    }

    /// Returns the function that reads the file.
    static func source(_ path: String) -> String {
        "read_json('\(path)', format = 'newline_delimited', "
            + "columns = {n: 'BIGINT', id: 'VARCHAR', doc: 'JSON'})"
    }

    /// Returns the SELECT of one column for each field.
    static func columns(from path: String) -> String {
        """
        SELECT id, doc ->> '$.make' AS make, doc ->> '$.model' AS model, \
        CAST(doc ->> '$.year' AS BIGINT) AS year, doc ->> '$.color' AS color, \
        CAST(doc ->> '$.mileage' AS BIGINT) AS mileage, \
        CAST(doc ->> '$.price' AS DOUBLE) AS price, CAST(doc ->> '$.sold' AS BOOLEAN) AS sold, \
        doc ->> '$.owner.name' AS owner, doc ->> '$.owner.city' AS city, \
        doc ->> '$.tags' AS tags, doc ->> '$.description' AS description FROM \(source(path))
        """
    }
}
