import SheafDocument
import SheafQuery
import SheafQueryModel
import Testing

/// Statements that are edge cases of the planner.
@Suite struct QueryEdgeTests {
    private let simulation: QuerySimulation

    init() throws {
        simulation = try QuerySimulation(seed: 1)
        try simulation.execute(
            """
            INSERT INTO t DOCUMENTS ({'_id': 1, 'a': 1, 'b': 'x', 'l': [1, 2]}),
            ({'_id': 2, 'a': 2, 'b': 'y', 'l': [3]}), ({'_id': 3, 'a': 3, 'b': 'x'})
            """)
    }

    @Test func `an assignment may bind variables`() throws {
        try simulation.execute("UPDATE t SET l = ARRAY v + 1 FOR v IN l END WHERE a < 3")
        #expect(try simulation.rows("SELECT l FROM t WHERE a = 1") == [["l": [2, 3]]])
    }

    @Test func `conditions are evaluated on index entries`() throws {
        try simulation.execute("CREATE INDEX i ON t (b, a)")
        #expect(try simulation.rows("SELECT b FROM t WHERE b > 'a' AND a = 2") == [["b": "y"]])
        #expect(
            try simulation.rows("SELECT b FROM t /*+ {\"#index\": \"i\"} */ WHERE a = 2") == [
                ["b": "y"]
            ])
    }

    @Test func `an alias hides no field from a condition`() throws {
        try simulation.execute("CREATE INDEX i ON t (b)")
        #expect(try simulation.rows("SELECT b AS a FROM t WHERE a = 2 AND b > ''") == [["a": "y"]])
    }

    @Test func `the greatest limit can have an offset`() throws {
        #expect(
            try simulation.rows("SELECT a FROM t ORDER BY a + 0 LIMIT 9223372036854775807 OFFSET 1")
                == [["a": 2], ["a": 3]])
    }

    @Test func `rows without a match count toward the limit`() throws {
        let text = "SELECT o.a FROM u RIGHT JOIN t AS o ON o._id = u.a LIMIT "
        for limit in 1...3 { #expect(try simulation.rows(text + "\(limit)").count == limit) }
        try simulation.execute("INSERT INTO u DOCUMENTS ({'_id': 1, 'a': 1})")
        for limit in 1...3 { #expect(try simulation.rows(text + "\(limit)").count == limit) }
    }

    @Test func `an integer id is found by an equal float`() throws {
        try simulation.execute("INSERT INTO u DOCUMENTS ({'_id': 1, 'a': 2.0})")
        #expect(
            try simulation.rows("SELECT o.b FROM u JOIN t AS o ON o._id = u.a") == [["b": "y"]])
        #expect(try simulation.rows("SELECT b FROM t WHERE _id = 2.0") == [["b": "y"]])
    }

    @Test func `a document that is not durable occurs once in a union`() throws {
        try simulation.execute("CREATE INDEX i ON t (a)")
        for number in 10...40 {
            try simulation.execute("INSERT INTO t DOCUMENTS ({'_id': \(number), 'a': \(number)})")
            if number == 37 { _ = try simulation.rows("SELECT * FROM t") }
        }
        let text = "SELECT _id FROM t WHERE _id IN (38, 39) OR a = 39 OR a = 12 ORDER BY _id"
        #expect(
            try simulation.rows(text, isPending: true) == [["_id": 12], ["_id": 38], ["_id": 39]])
        try simulation.execute("CREATE INDEX j ON t (l)")
        try simulation.execute("UPDATE t SET l = 1 WHERE _id = 10")
        try simulation.execute("UPDATE t SET l = 1 WHERE _id = 11")
        #expect(
            try simulation.rows(
                "SELECT o._id FROM t RIGHT JOIN t AS o ON o._id = t._id AND o.l = 1 "
                    + "WHERE t._id > 0 ORDER BY o._id", isPending: true)
                == [["_id": 10], ["_id": 11]])
    }

    @Test func `values that are too long for an index are joined`() throws {
        let long = Value.string(String(repeating: "long ", count: 300))
        try simulation.execute("CREATE INDEX i ON t (b)")
        try simulation.execute("UPDATE t SET b = :long WHERE _id = 1", ["long": long])
        try simulation.execute("INSERT INTO u DOCUMENTS ({'_id': 1, 'b': :long})", ["long": long])
        #expect(try simulation.rows("SELECT o._id FROM u JOIN t AS o ON o.b = u.b") == [["_id": 1]])
    }

    @Test func `the representative of equal values does not depend on the plan`() throws {
        try simulation.execute(
            "INSERT INTO u DOCUMENTS ({'_id': 1, 'a': 1.0}), ({'_id': 2, 'a': 1}), "
                + "({'_id': 3, 'a': 1.0})")
        let columns = ["DISTINCT a", "MIN(a) AS a", "MAX(a) AS a"]
        for round in 0...1 {
            for column in columns {
                let rows = try simulation.rows("SELECT \(column) FROM u ORDER BY a")
                #expect(rows.map(\.json) == ["{\"a\":1}"], "\(column), \(round)")
            }
            #expect(try simulation.rows("SELECT a FROM u GROUP BY a").map(\.json) == ["{\"a\":1}"])
            try simulation.execute("CREATE INDEX IF NOT EXISTS i ON u (a DESC)")
        }
    }

    @Test func `deeply nested loops are stopped`() throws {
        let depth = 60
        func nested(_ opening: String, _ inner: String, _ closing: String) -> String {
            String(repeating: opening, count: depth) + inner
                + String(repeating: closing, count: depth)
        }
        let statements = [
            nested("ARRAY [v, v] FOR v IN ", "[1]", " END"),
            nested("ANY v IN [1, 2, 3] SATISFIES ", "v = 4", " END"),
            "ANY v0 IN [1] SATISFIES "
                + (1..<depth).map { "ANY v\($0) IN [[v\($0 - 1), v\($0 - 1)]] SATISFIES " }
                .joined()
                + "v\(depth - 1) = v\(depth - 1)" + String(repeating: " END", count: depth),
        ]
        for statement in statements {
            #expect(throws: StoreError.self, "\(statement)") {
                _ = try simulation.rows("SELECT \(statement) AS x FROM t")
            }
        }
    }
}
