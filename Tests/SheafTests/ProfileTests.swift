import Sheaf
import SheafDocument
import SheafQuery
import Testing

/// The operator statistics that PROFILE returns.
@Suite struct ProfileTests {
    private let store: CarFixtureStore

    init() throws {
        store = try CarFixtureStore()
        try store.fill(40)
        try store.execute("CREATE INDEX by_mileage ON cars (mileage)")
        try store.execute("CREATE INDEX by_color ON cars (color)")
        try store.flush()
    }

    /// Returns the rows of a statement, and the operators of its profile by name.
    private func profile(_ text: String) throws -> (rows: [Value], operators: [String: Object]) {
        var rows = try store.rows("PROFILE " + text)
        guard let last = rows.popLast() else { return ([], [:]) }
        var operators: [String: Object] = [:]
        func visit(_ value: Value?) {
            guard case .object(let found)? = value,
                case .string(let name)? = found["#operator"]
            else { return }
            operators[name] = found
            guard case .array(let children)? = found["children"] else { return }
            for child in children { visit(child) }
        }
        guard case .object(let row) = last, case .object(let profile)? = row["~request_profile"]
        else {
            Issue.record("\(last)")
            return (rows, [:])
        }
        visit(profile["plan"])
        return (rows, operators)
    }

    @Test func `LIMIT stops a scan early`() throws {
        let (rows, operators) = try profile("SELECT * FROM cars LIMIT 3")
        #expect(rows.count == 3)
        #expect(operators["scan"]?["entries"] == 3)
        #expect(operators["limit"]?["documentsOut"] == 3)
    }

    @Test func `OFFSET by rank visits no skipped entry`() throws {
        let (rows, operators) = try profile(
            "SELECT mileage FROM cars ORDER BY mileage LIMIT 2 OFFSET 30")
        #expect(rows == [["mileage": 15_000], ["mileage": 15_500]])
        #expect(operators["indexScan"]?["entries"] == 2)
        #expect(operators["indexScan"]?["fetched"] == 0)
    }

    @Test func `a covering scan fetches nothing`() throws {
        let (rows, operators) = try profile(
            "SELECT mileage FROM cars WHERE mileage BETWEEN 1000 AND 2000")
        #expect(rows.count == 3)
        #expect(operators["indexScan"]?["entries"] == 3)
        #expect(operators["indexScan"]?["fetched"] == 0)
        #expect(operators["fetch"] == nil)
    }

    @Test func `a count on an index reads no entries`() throws {
        let (rows, operators) = try profile("SELECT COUNT(*) AS n FROM cars WHERE color = 'red'")
        #expect(rows == [["n": 10]])
        #expect(operators["countScan"]?["entries"] == 0)
        #expect(operators["countScan"]?["fetched"] == 0)
        #expect(operators["countScan"]?["documentsOut"] == 10)
    }

    @Test func `an intersection fetches the documents in both indexes`() throws {
        let (rows, operators) = try profile(
            "SELECT * FROM cars /*+ {\"#intersects\": true} */ "
                + "WHERE color = 'red' AND mileage < 10000")
        #expect(rows.count == 5)
        #expect(operators["fetch"]?["fetched"] == 5)
        #expect(operators["intersectScan"]?["documentsIn"] == 30)
        #expect(operators["intersectScan"]?["documentsOut"] == 5)
    }

    @Test func `each operator consumes the output of its child`() throws {
        let statements = [
            "SELECT * FROM cars WHERE color = 'red' AND lower(color) = 'red'",
            "SELECT * FROM cars WHERE year = 2002 ORDER BY mileage DESC LIMIT 2",
            "SELECT * FROM cars WHERE color = 'red' AND year = 2002",
            "SELECT DISTINCT color FROM cars WHERE year > 2002 ORDER BY color LIMIT 2",
            "SELECT year, COUNT(*) FROM cars GROUP BY year HAVING COUNT(*) > 1 ORDER BY year",
            "SELECT * FROM cars WHERE year < 2003 LIMIT 2 OFFSET 1",
        ]
        for text in statements {
            let plain = try store.rows(text)
            var rows = try store.rows("PROFILE " + text)
            let last = rows.popLast()
            #expect(rows == plain, "\(text)")
            guard case .object(let row)? = last,
                case .object(let profile)? = row["~request_profile"]
            else { continue }
            check(profile["plan"], text)
        }
    }

    private func check(_ value: Value?, _ text: String) {
        guard case .object(let found)? = value,
            case .array(let children)? = found["children"],
            case .object(let child)? = children.first, found["#operator"] != "projection"
        else { return }
        #expect(found["documentsIn"] == child["documentsOut"], "\(text): \(found)")
        #expect(found["documentsIn"] != nil)
        check(children[0], text)
    }

    @Test func `each operator of the plan reports its time`() throws {
        let (_, operators) = try profile("SELECT * FROM cars WHERE lower(color) = 'red'")
        for name in ["projection", "filter", "scan"] {
            #expect(operators[name]?["nanoseconds"] != nil, "\(name)")
        }
    }

    @Test func `PROFILE runs statements that write`() throws {
        let (rows, operators) = try profile(
            "UPDATE cars SET mileage = mileage + 1 WHERE color = 'red' RETURNING mileage")
        #expect(rows.count == 10)
        #expect(operators["update"]?["documentsOut"] == 10)
        #expect(operators["fetch"]?["fetched"] == 10)
        try store.flush()
        #expect(
            try store.rows("SELECT mileage FROM cars WHERE _id = 'c02'") == [["mileage": 1_001]])
        let (_, deleting) = try profile("DELETE FROM cars ORDER BY mileage DESC LIMIT 2")
        #expect(deleting["delete"]?["documentsOut"] == 2)
        let (_, inserting) = try profile(
            "INSERT INTO reds SELECT * FROM cars WHERE color = 'red'")
        #expect(inserting["insert"]?["documentsOut"] == 9)
        let (_, making) = try profile("INSERT INTO reds DOCUMENTS ({'_id': 1})")
        #expect(making["insert"]?["documentsOut"] == 1)
    }

    @Test func `EXPLAIN changes nothing and returns the plan as a value`() throws {
        let rows = try store.rows("EXPLAIN DELETE FROM cars WHERE color = 'red'")
        guard case .object(let row)? = rows.first, case .object(let plan)? = row["plan"] else {
            Issue.record("\(rows)")
            return
        }
        #expect(rows.count == 1)
        #expect(plan["#operator"] == "delete")
        #expect(try store.rows("SELECT COUNT(*) AS n FROM cars") == [["n": 40]])
        #expect(throws: StoreError.self) {
            try store.execute("EXPLAIN DELETE FROM system:indexes")
        }
    }
}

/// Statements whose rows depend on a correct plan.
@Suite struct PlanResultTests {
    @Test func `an update that uses an index sees all fields`() throws {
        let store = try CarFixtureStore()
        try store.fill(8)
        try store.execute("CREATE INDEX by_color ON cars (color)")
        try store.flush()
        try store.execute("UPDATE cars SET mileage = mileage + 1 WHERE color = 'blue'")
        try store.flush()
        #expect(
            try store.rows("SELECT mileage FROM cars WHERE _id = 'c04'") == [["mileage": 2_001]])
        let older = try store.rows("DELETE FROM cars WHERE color = 'red' RETURNING mileage, year")
        #expect(older == [["mileage": 1_000, "year": 2_002], ["mileage": 3_000, "year": 2_006]])
    }

    @Test func `conditions are evaluated on the entries of a covering index`() throws {
        let store = try CarFixtureStore()
        try store.fill(8)
        try store.execute("CREATE INDEX by_color_mileage ON cars (color, mileage)")
        try store.flush()
        #expect(
            try store.rows("SELECT mileage FROM cars WHERE mileage > 2500 ORDER BY mileage")
                == [["mileage": 3_000], ["mileage": 3_500]])
    }

    @Test func `an array comprehension is evaluated in an update`() throws {
        let store = try CarFixtureStore()
        try store.fill(1)
        try store.execute("UPDATE cars SET list = ARRAY v + 1 FOR v IN [1, 2] END WHERE true")
        try store.flush()
        #expect(try store.rows("SELECT list FROM cars") == [["list": [2, 3]]])
    }

    @Test func `LIMIT plus OFFSET may exceed the integer range`() throws {
        let store = try CarFixtureStore()
        try store.fill(3)
        #expect(
            try store.rows(
                "SELECT mileage FROM cars ORDER BY mileage DESC LIMIT \(Int64.max) OFFSET 1")
                == [["mileage": 500], ["mileage": 0]])
    }
}
