import BenchHarness
import BenchStores

/// Statements over 100,000 cars with all rows consumed, and the planning of new statements.
///
/// SQLite runs them with JSON texts and expression indexes, and with one column per field.
enum QueryWorkload {
    static var workload: Workload {
        Workload(
            "query", "statements over 100,000 documents of about 250 bytes of JSON",
            cases: QueryCase.all.map { query in
                Case(
                    query.name, query.summary, unit: query.unit, .higher,
                    systems: [
                        System("sheaf") { try QueryTrial($0, query) { try SheafQueries($0) } },
                        System("sqlite-json") {
                            try QueryTrial($0, query) { try SQLiteQueries($0, hasColumns: false) }
                        },
                        System("sqlite-columns") {
                            try QueryTrial($0, query) { try SQLiteQueries($0, hasColumns: true) }
                        },
                    ])
            } + [
                Case(
                    "parse-plan", "parsing and planning a new statement",
                    unit: "µs", .lower,
                    systems: [System("sheaf") { try ParsePlanTrial($0) }])
            ])
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

    init(
        _ name: String, _ summary: String, unit: String = "/s", weight: Int = 1, sheaf: String,
        json: String, columns: String
    ) {
        self.name = name
        self.summary = summary
        self.unit = unit
        self.sheaf = sheaf
        self.json = json
        self.columns = columns
        self.weight = weight
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
            weight: 1_000,
            sheaf: "SELECT * FROM cars WHERE year = 1999 AND mileage BETWEEN 0 AND 70000",
            json: """
                SELECT id, doc FROM cars WHERE json_extract(doc, '$.year') = 1999 \
                AND json_extract(doc, '$.mileage') BETWEEN 0 AND 70000
                """,
            columns: """
                SELECT id, description FROM cars WHERE year = 1999 AND mileage BETWEEN 0 AND 70000
                """),
        QueryCase(
            "count-half", "COUNT(*) of half of an index",
            sheaf: "SELECT COUNT(*) AS n FROM cars WHERE mileage >= 100000",
            json: """
                SELECT COUNT(*) FROM cars WHERE json_extract(doc, '$.mileage') >= 100000
                """,
            columns: "SELECT COUNT(*) FROM cars WHERE mileage >= 100000"),
        QueryCase(
            "order-limit-20", "the first 20 in index order",
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
    func close()
}

/// The repeated execution of one statement.
final class QueryTrial: Trial {
    private let system: any QuerySystem
    private let query: QueryCase
    private let seconds: Double
    private let rowCount: Int

    init(_ stage: Stage, _ query: QueryCase, _ make: (Stage) throws -> any QuerySystem) throws {
        self.query = query
        seconds = stage.scale.roundSeconds
        system = try make(stage)
        rowCount = try system.run(query)
        guard rowCount > 0 else {
            throw StoreFailure(description: "\(query.name) returned no rows")
        }
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
