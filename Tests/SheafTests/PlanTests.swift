import Sheaf
import SheafDocument
import SheafQuery
import Testing

/// The plans of statements, as EXPLAIN shows them.
@Suite struct PlanTests {
    @Test(arguments: PlanCase.names)
    func `the planner chooses the plan in each plan file`(_ name: String) throws {
        let expected = try PlanCase(name)
        let store = try CarFixtureStore()
        try store.fill(expected.documents)
        for change in expected.changes { try store.execute(change) }
        try store.flush()
        let plan = try store.planText(of: expected.statement, behind: expected.pending)
        #expect(plan == expected.plan, "\(name):\n\(plan)\n")
    }

    @Test(arguments: [64, 65])
    func `an OR of up to 64 conditions is a union of index scans`(count: Int) throws {
        let store = try CarFixtureStore()
        try store.fill(2_000)
        try store.execute("CREATE INDEX by_color ON cars (color)")
        try store.execute("CREATE INDEX by_mileage ON cars (mileage)")
        try store.flush()
        let conditions =
            ["color = 'none'"] + (1..<count).map { "mileage = \($0 * 500)" }
        let text = "SELECT * FROM cars WHERE " + conditions.joined(separator: " OR ")
        let plan = try store.planText(of: text, behind: [])
        #expect(plan.contains("unionScan") == (count == 64), "\(plan)")
        #expect(plan.contains("    scan cars") == (count == 65), "\(plan)")
    }

    @Test(arguments: [7, 8, 9, 12])
    func `a plan lists up to eight spans, and counts the others`(count: Int) throws {
        let store = try CarFixtureStore()
        try store.fill(100)
        let ids = (0..<count).map { $0 < 10 ? "'c0\($0)'" : "'c\($0)'" }
        let text = "SELECT * FROM cars WHERE _id IN (\(ids.joined(separator: ", ")))"
        let plan = try store.planText(of: text, behind: [])
        var spans = (0..<min(count, 8)).map { "_id = \"c0\($0)\"" }.joined(separator: " or ")
        if count > 8 { spans += " or \(count - 8) more" }
        #expect(plan.contains("idScan cars: \(spans) (rows \(count))"), "\(plan)")
    }

    /// Returns the first operator of a plan, which reads the rows.
    private func reader(of text: String, in store: CarFixtureStore) throws -> Object? {
        guard case .object(let row)? = try store.rows("EXPLAIN " + text).first else { return nil }
        var next = row["plan"]
        var reader: Object?
        while case .object(let found)? = next {
            reader = found
            guard case .array(let children)? = found["children"] else { break }
            next = children.first
        }
        return reader
    }

    @Test func `a scan that enforces the limit and the offset has both as numbers`() throws {
        let store = try CarFixtureStore()
        try store.fill(20)
        try store.execute("CREATE INDEX by_mileage ON cars (mileage)")
        try store.flush()
        let cases: [(text: String, limit: Value?, offset: Value?)] = [
            ("SELECT * FROM cars", nil, nil), ("SELECT * FROM cars LIMIT 3", 3, nil),
            ("SELECT * FROM cars LIMIT 3 OFFSET 4", 7, nil),
            ("SELECT mileage FROM cars ORDER BY mileage LIMIT 2", 2, nil),
            ("SELECT mileage FROM cars ORDER BY mileage LIMIT 2 OFFSET 10", 2, 10),
            ("SELECT * FROM cars WHERE color = 'red' LIMIT 3", nil, nil),
            ("SELECT * FROM cars ORDER BY color LIMIT 3", nil, nil),
        ]
        for (text, limit, offset) in cases {
            let found = try #require(try reader(of: text, in: store))
            #expect(found["collection"] == "cars")
            #expect(found["limit"] == limit, "\(text)")
            #expect(found["offset"] == offset, "\(text)")
        }
    }

    /// Returns the operators of a plan that read a source.
    private func readers(in plan: Value?) -> [Object] {
        guard case .object(let found)? = plan else { return [] }
        guard case .array(let children)? = found["children"] else { return [found] }
        return children.flatMap { readers(in: $0) }
    }

    @Test func `a source has its collection, and its alias if that is another name`() throws {
        let store = try CarFixtureStore()
        try store.fill(20)
        try store.execute("CREATE INDEX by_color ON cars (color)")
        try store.flush()
        let join = "JOIN owners AS o ON o._id ="
        let cases: [(text: String, collections: [Value?], aliases: [Value?])] = [
            ("SELECT * FROM cars", ["cars"], [nil]),
            ("SELECT * FROM cars AS cars", ["cars"], [nil]),
            ("SELECT * FROM cars AS c", ["cars"], ["c"]),
            ("SELECT * FROM cars AS c WHERE c._id IN ('c01', 'c02')", ["cars"], ["c"]),
            ("SELECT * FROM cars AS c WHERE c.color = 'red'", ["cars"], ["c"]),
            ("SELECT COUNT(*) FROM cars AS c", ["cars"], ["c"]),
            ("SELECT * FROM absent AS m", ["absent"], ["m"]),
            (
                "SELECT c._id, o.name FROM cars AS c \(join) c.owner", ["cars", "owners"],
                ["c", "o"]
            ),
            (
                "SELECT cars._id, o.name FROM cars \(join) cars.owner", ["cars", "owners"],
                [nil, "o"]
            ),
        ]
        for (text, collections, aliases) in cases {
            guard case .object(let row)? = try store.rows("EXPLAIN " + text).first else {
                Issue.record("\(text) has no plan")
                continue
            }
            let found = readers(in: row["plan"])
            #expect(found.map { $0["collection"] } == collections, "\(text)")
            #expect(found.map { $0["alias"] } == aliases, "\(text)")
        }
    }

    @Test func `the folder of plans has at least 30 files`() {
        #expect(PlanCase.names.count >= 30)
    }
}
