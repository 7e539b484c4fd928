import BenchHarness
import BenchStores
import BenchWorkloads
import SheafDocument

/// Statements over 100,000 cars with all rows consumed, and the planning of new statements.
///
/// SQLite runs them with JSON texts and expression indexes, and with one column per field.
enum QueryWorkload {
    static var workload: Workload {
        Workload(
            "query", "statements over 100,000 documents of about 250 bytes of JSON",
            cases: QueryCase.all.map(test) + [
                Case(
                    "parse-plan", "parsing and planning a new statement",
                    unit: "µs", .lower,
                    systems: [System("sheaf") { try ParsePlanTrial($0) }])
            ])
    }

    private static func test(_ query: QueryCase) -> Case {
        let results = TableResults()
        var tables = [
            System("sheaf") { try QueryTrial($0, query, results) { try SheafQueries($0) } },
            System("sheaf-uncached") {
                try QueryTrial($0, query, results) { try SheafQueries($0, hasColumns: false) }
            },
            System("sqlite-json") {
                try QueryTrial($0, query, results) { try SQLiteQueries($0, hasColumns: false) }
            },
            System("sqlite-columns") {
                try QueryTrial($0, query, results) { try SQLiteQueries($0, hasColumns: true) }
            },
        ]
        // Full scans use columns in memory, and statements with an index never do.
        if query.usesIndex { tables.remove(at: 1) }
        let columns = [
            System("duckdb-json") {
                try DuckDBQueryTrial($0, query, results, hasColumns: false)
            },
            System("duckdb-columns") {
                try DuckDBQueryTrial($0, query, results, hasColumns: true)
            },
        ]
        return Case(
            query.name, query.summary, unit: query.unit, .higher,
            systems: query.usesIndex ? tables : tables + columns)
    }
}

/// A statement for each of the systems.
struct QueryCase: Sendable {
    let name: String
    let summary: String
    /// The unit: scanned documents, joined rows, or statements per second.
    let unit: String
    let sheaf: String
    let json: String
    let columns: String
    /// The number of units per run.
    let weight: Int
    /// Whether an index answers the statement; DuckDB, which has none for it, is left out then.
    let usesIndex: Bool

    init(
        _ name: String, _ summary: String, unit: String = "/s", weight: Int = 1,
        usesIndex: Bool = false, sheaf: String, json: String, columns: String
    ) {
        self.usesIndex = usesIndex
        self.name = name
        self.summary = summary
        self.unit = unit
        self.sheaf = sheaf
        self.json = json
        self.columns = columns
        self.weight = weight
    }

    /// The text of `json` for DuckDB, whose function returns JSON instead of the value.
    var duckDB: String {
        json.replacing(#/json_extract\(([^,]+, '\$\.(price|amount)')\)/#) { match in
            "CAST(json_extract_string(\(match.output.1)) AS DOUBLE)"
        }.replacing("json_extract(", with: "json_extract_string(")
    }

    /// Returns rows in a form that is equal in all systems: of documents, only the IDs.
    func comparable(_ rows: [[Value]]) -> TableRows {
        let count = sheaf.hasPrefix("SELECT *") ? 1 : rows.first?.count ?? 0
        return TableRows(
            columns: (0..<count).map { "\($0)" }, rows: rows.map { Array($0.prefix(count)) })
    }

    static let all = [
        QueryCase(
            "scan-filter", "color = 'blue' AND price > 45500 without an index, one in 80 matches",
            unit: "documents/s", weight: QueryCars.count,
            sheaf: "SELECT * FROM cars WHERE color = 'blue' AND price > 45500",
            json: """
                SELECT id, doc FROM cars WHERE json_extract(doc, '$.color') = 'blue' \
                AND json_extract(doc, '$.price') > 45500
                """,
            columns: """
                SELECT id, description FROM cars WHERE color = 'blue' AND price > 45500
                """),
        QueryCase(
            "index-scan-1000", "about 1,000 documents through an index", unit: "documents/s",
            weight: 1_000, usesIndex: true,
            sheaf: "SELECT * FROM cars WHERE year = 1999 AND mileage BETWEEN 0 AND 70000",
            json: """
                SELECT id, doc FROM cars WHERE json_extract(doc, '$.year') = 1999 \
                AND json_extract(doc, '$.mileage') BETWEEN 0 AND 70000
                """,
            columns: """
                SELECT id, description FROM cars WHERE year = 1999 AND mileage BETWEEN 0 AND 70000
                """),
        QueryCase(
            "count-half", "COUNT(*) of half of an index", usesIndex: true,
            sheaf: "SELECT COUNT(*) AS n FROM cars WHERE mileage >= 100000",
            json: """
                SELECT COUNT(*) FROM cars WHERE json_extract(doc, '$.mileage') >= 100000
                """,
            columns: "SELECT COUNT(*) FROM cars WHERE mileage >= 100000"),
        QueryCase(
            "order-limit-20", "the first 20 in index order", usesIndex: true,
            sheaf: "SELECT * FROM cars ORDER BY mileage LIMIT 20",
            json: "SELECT id, doc FROM cars ORDER BY json_extract(doc, '$.mileage') LIMIT 20",
            columns: "SELECT id, description FROM cars ORDER BY mileage LIMIT 20"),
        QueryCase(
            "group-sum", "GROUP BY make, with the SUM of a price", unit: "documents/s",
            weight: QueryCars.count,
            sheaf: "SELECT make, SUM(price) AS total FROM cars GROUP BY make",
            json: """
                SELECT json_extract(doc, '$.make') AS m, SUM(json_extract(doc, '$.price')) \
                FROM cars GROUP BY m
                """,
            columns: "SELECT make, SUM(price) FROM cars GROUP BY make"),
        QueryCase(
            "join", "10,000 orders, each joined with its car", unit: "rows/s",
            weight: QueryCars.orderCount,
            sheaf: "SELECT o.amount, c.make FROM orders AS o JOIN cars AS c ON c._id = o.car",
            json: """
                SELECT json_extract(o.doc, '$.amount'), json_extract(c.doc, '$.make') \
                FROM orders o JOIN cars c ON c.id = json_extract(o.doc, '$.car')
                """,
            columns: "SELECT o.amount, c.make FROM orders o JOIN cars c ON c.id = o.car"),
        QueryCase(
            "top-20", "the first 20 ordered by a field without an index", unit: "documents/s",
            weight: QueryCars.count,
            sheaf: "SELECT * FROM cars ORDER BY price LIMIT 20",
            json: "SELECT id, doc FROM cars ORDER BY json_extract(doc, '$.price') LIMIT 20",
            columns: "SELECT id, description FROM cars ORDER BY price LIMIT 20"),
    ]
}

/// The documents of the query workload.
enum QueryCars {
    static let count = 100_000
    static let orderCount = 10_000

    /// Returns the ID of an order's car.
    static func car(ofOrder index: UInt64) -> String {
        Cars.id(Entries.mix(index &+ 77) % UInt64(count))
    }

    static func amount(ofOrder index: UInt64) -> Int {
        Int(Entries.mix(index &+ 99) % 10_000)
    }
}

/// A database that runs the statement of a case.
protocol QuerySystem: AnyObject {
    /// Runs the statement and reads each row; returns the number of rows.
    func run(_ query: QueryCase) throws -> Int

    /// Returns the rows of the statement; a row of complete documents begins with the ID.
    func rows(_ query: QueryCase) throws -> [[Value]]
    func close()
}

/// The repeated execution of one statement.
final class QueryTrial: Trial {
    private let system: any QuerySystem
    private let query: QueryCase
    private let seconds: Double
    private let rowCount: Int

    init(
        _ stage: Stage, _ query: QueryCase, _ results: TableResults,
        _ make: (Stage) throws -> any QuerySystem
    ) throws {
        self.query = query
        seconds = stage.scale.roundSeconds
        system = try make(stage)
        rowCount = try system.run(query)
        guard rowCount > 0 else {
            throw StoreFailure(description: "\(query.name) returned no rows")
        }
        try results.compare(query.comparable(try system.rows(query)), of: query.name)
    }

    func run(round: Int) throws -> Sample {
        let start = now()
        var runs = 0
        while BenchHarness.seconds(since: start) < seconds {
            guard try system.run(query) == rowCount else {
                throw StoreFailure(description: "\(query.name) returned a different number of rows")
            }
            runs += 1
        }
        return Sample(Double(runs * query.weight) / BenchHarness.seconds(since: start))
    }

    func finish() {
        system.close()
    }
}
