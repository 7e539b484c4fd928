import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import Testing

/// The indexes that ADVISE suggests.
@Suite struct AdviceTests {
    private let store: CarFixtureStore

    init() throws {
        store = try CarFixtureStore()
        try store.fill(40)
    }

    /// Returns the statements in the only row that ADVISE returns.
    private func advice(_ text: String) throws -> [String] {
        let rows = try store.rows("ADVISE " + text)
        guard rows.count == 1, case .object(let row) = rows[0],
            case .object(let advice)? = row["advice"],
            case .array(let suggested)? = advice["suggestedIndexes"]
        else { return ["\(rows)"] }
        return suggested.map { index in
            guard case .object(let index) = index, case .string(let text)? = index["statement"]
            else { return "\(index)" }
            return text
        }
    }

    private func expect(
        _ text: String, _ advice: String..., at location: SourceLocation = #_sourceLocation
    ) throws {
        let found = try self.advice(text)
        #expect(found == advice.map { "CREATE INDEX " + $0 }, "\(text)", sourceLocation: location)
    }

    @Test func `a suggested index has equality fields first, then a range or the order`() throws {
        try expect(
            "SELECT * FROM cars WHERE mileage > 5 AND color = 'blue'",
            "cars_color_mileage ON cars (color, mileage)")
        try expect(
            "SELECT * FROM cars WHERE color = 'blue' ORDER BY year DESC, mileage",
            "cars_color_year_mileage ON cars (color, year DESC, mileage)")
        try expect(
            "SELECT * FROM cars ORDER BY mileage DESC LIMIT 2",
            "cars_mileage ON cars (mileage DESC)")
        try expect("SELECT * FROM cars ORDER BY mileage")
        try expect(
            "SELECT * FROM cars WHERE engine.fuel IN ('gas', 'air') AND color = 'blue'",
            "cars_color_engine_fuel ON cars (color, engine.fuel)")
        try expect(
            "SELECT * FROM cars WHERE color LIKE 'b%'", "cars_color ON cars (color)")
        try expect(
            "SELECT * FROM cars WHERE color = 'blue' ORDER BY _id", "cars_color ON cars (color)")
        try expect(
            "SELECT * FROM cars WHERE _id > 'c01' AND color = 'blue'", "cars_color ON cars (color)")
    }

    @Test func `no index is suggested where none would help`() throws {
        try expect("SELECT * FROM cars WHERE _id = 'c01' AND color = 'blue'")
        try expect("SELECT * FROM cars WHERE _id > 'c01'")
        try expect("SELECT * FROM cars WHERE color = 'blue' AND false")
        try expect("SELECT * FROM cars WHERE lower(color) = 'blue'")
        try expect("SELECT * FROM cars WHERE color != 'blue'")
        try expect("SELECT * FROM cars")
        try expect("SELECT COUNT(*) FROM cars")
        try expect("SELECT * FROM system:indexes WHERE collection = 'cars'")
        try expect("SELECT * FROM cars WHERE color = 'red' OR lower(color) = 'blue'")
        try expect("INSERT INTO cars DOCUMENTS ({})")
        try store.execute("CREATE INDEX one ON cars (year, color, mileage DESC)")
        try store.flush()
        try expect("SELECT * FROM cars WHERE color = 'blue' AND year = 2001")
        try expect("SELECT * FROM cars WHERE color = 'blue' AND year = 2001 ORDER BY mileage")
        try expect(
            "SELECT * FROM cars WHERE color = 'blue'", "cars_color ON cars (color)")
    }

    @Test func `each branch of OR gets an index`() throws {
        try expect(
            "SELECT * FROM cars WHERE color = 'red' OR mileage < 5 OR _id = 'c01'",
            "cars_color ON cars (color)", "cars_mileage ON cars (mileage)")
    }

    @Test func `an index is suggested on the fields that a join compares`() throws {
        try expect(
            "SELECT * FROM owners AS o JOIN cars AS c ON c.owner = o._id WHERE o.city = 'A'",
            "owners_city ON owners (city)", "cars_owner ON cars (owner)")
        try expect("SELECT * FROM cars AS c JOIN owners AS o ON o._id = c.owner")
    }

    @Test func `an index that covers a grouping is suggested`() throws {
        try expect(
            "SELECT color, SUM(mileage) FROM cars WHERE year = 2001 GROUP BY color",
            "cars_year_color_mileage ON cars (year, color, mileage)")
    }

    @Test func `an index is suggested for a statement that writes`() throws {
        try expect(
            "UPDATE cars SET seen = true WHERE year = 2003", "cars_year ON cars (year)")
        try expect(
            "EVICT FROM cars WHERE year < 2003 AND year > 1999", "cars_year ON cars (year)")
        try expect(
            "INSERT INTO old SELECT * FROM cars WHERE year = 1999", "cars_year ON cars (year)")
    }

    @Test func `a suggested name that is in use gets a number`() throws {
        try store.execute("CREATE INDEX cars_color ON cars (owner)")
        try store.flush()
        try expect(
            "SELECT * FROM cars WHERE color = 'blue'", "cars_color_2 ON cars (color)")
    }

    @Test(arguments: [
        "SELECT * FROM cars WHERE color = 'blue' AND mileage > 15000",
        "SELECT * FROM cars WHERE color = 'blue' ORDER BY mileage LIMIT 3",
        "SELECT * FROM cars WHERE mileage < 500 OR color = 'blue' AND mileage > 17000",
        "SELECT color, SUM(mileage) AS sum FROM cars GROUP BY color",
        "SELECT * FROM owners AS o JOIN cars AS c ON c.owner = o._id",
        "SELECT * FROM cars ORDER BY mileage DESC LIMIT 2",
    ])
    func `a provisioned index is used and not suggested again`(_ text: String) throws {
        let advice = try store.rows("ADVISE AND PROVISION " + text)
        #expect(!advice.isEmpty)
        try store.flush()
        #expect(try self.advice(text) == [])
        let plan = try store.queries.planText(try Parser.parse(text))
        #expect(plan.contains("indexScan"), "\(plan)")
    }

    /// Expects the only row of an ADVISE statement.
    private func expectRow(
        _ text: String, _ suggested: [(statement: String, reason: String)],
        existing: [String] = [], _ outcome: String
    ) throws {
        let collection: Value = "cars"
        let advice: Value = [
            "suggestedIndexes": .array(
                suggested.map { index -> Value in
                    [
                        "collection": collection, "reason": .string(index.reason),
                        "statement": .string("CREATE INDEX " + index.statement),
                    ]
                }),
            "existingIndexes": .array(
                existing.map { statement -> Value in
                    [
                        "collection": collection,
                        "statement": .string("CREATE INDEX " + statement),
                    ]
                }), "outcome": .string(outcome),
        ]
        #expect(try store.rows(text) == [["advice": advice]], "\(text)")
    }

    @Test func `the row of ADVISE has the reasons, the existing indexes and the outcome`() throws {
        try expectRow(
            "ADVISE SELECT * FROM cars WHERE mileage > 5 AND color = 'blue'",
            [
                (
                    "cars_color_mileage ON cars (color, mileage)",
                    "finds documents by color, finds a range of mileage"
                )
            ], "1 index suggested")
        try expectRow(
            "ADVISE SELECT * FROM cars ORDER BY engine.fuel DESC, year LIMIT 2",
            [
                (
                    "cars_engine_fuel_year ON cars (engine.fuel DESC, year)",
                    "has the order of engine.fuel, year"
                )
            ], "1 index suggested")
        try expectRow(
            "ADVISE SELECT color, SUM(mileage) AS s FROM cars WHERE year = 2001 GROUP BY color",
            [
                (
                    "cars_year_color_mileage ON cars (year, color, mileage)",
                    "finds documents by year, contains all fields that the statement reads"
                )
            ], "1 index suggested")
        try expectRow(
            "ADVISE SELECT * FROM owners AS o JOIN cars AS c ON c.owner = o._id",
            [("cars_owner ON cars (owner)", "for a join, finds documents by owner")],
            "1 index suggested")
        try expectRow("ADVISE SELECT * FROM cars", [], "no index helps this statement")
        try expectRow(
            "ADVISE AND PROVISION SELECT * FROM cars WHERE color = 'red' OR year < 5",
            [
                ("cars_color ON cars (color)", "finds documents by color"),
                ("cars_year ON cars (year)", "finds a range of year"),
            ], "2 indexes created")
        try store.flush()
        try expectRow(
            "ADVISE SELECT * FROM cars WHERE color = 'red'", [],
            existing: ["cars_color ON cars (color)"], "the statement has the indexes it needs")
        try expectRow(
            "ADVISE AND PROVISION UPDATE cars SET n = 1 WHERE owner = 3",
            [("cars_owner ON cars (owner)", "finds documents by owner")], "1 index created")
    }
}
