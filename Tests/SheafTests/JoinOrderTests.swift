import SheafDocument
import SheafQueryModel
import SheafTestSupport
import Testing

/// Joins whose second source is the outer one, compared with the written order.
@Suite struct JoinOrderTests {
    private let simulation: QuerySimulation

    init() throws {
        simulation = try QuerySimulation(seed: 1)
        var random = SeededRandom(seed: 5, "join order")
        for (collection, count) in [("t", 1_200), ("u", 20)] {
            for start in stride(from: 0, to: count, by: 100) {
                let documents = (start..<min(start + 100, count)).map { number in
                    Value.object([
                        "_id": .integer(Int64(number)), "k": .integer(Int64(random.below(25))),
                        "n": .integer(Int64(random.below(5))),
                    ])
                }
                let list = documents.indices.map { "(:d\($0))" }.joined(separator: ", ")
                try simulation.execute(
                    "INSERT INTO \(collection) DOCUMENTS \(list)",
                    Dictionary(
                        uniqueKeysWithValues: documents.enumerated().map { ("d\($0)", $1) }))
            }
        }
        try simulation.execute("CREATE INDEX i ON t (k)")
    }

    /// A directive fixes the order of the sources and has no other effect.
    private static let isFixed = "/*+ {\"#prefer_order\": false} */ "

    @Test(arguments: [
        "SELECT * FROM t JOIN u ON u._id = t.k",
        "SELECT t.*, u.n AS other FROM t JOIN u ON u._id = t.k AND u.n < t.n",
        "SELECT 2 AS x, u._id AS u, t._id AS t FROM t JOIN u ON u._id = t.k ORDER BY x, u, 3 DESC",
        "SELECT u.n, COUNT(*) AS c, SUM(t._id) AS s FROM t JOIN u ON u._id = t.k GROUP BY u.n",
        "SELECT DISTINCT u.n FROM t JOIN u ON u._id = t.k WHERE t.n > 1 ORDER BY u.n",
        "SELECT t._id AS t, u.k AS k FROM t JOIN u ON u._id = t.k WHERE u.n = 2",
        "SELECT * FROM t JOIN u ON u._id = t.k LEFT JOIN t AS v ON v._id = u.k AND v.n = t.n",
        "SELECT t._id AS t, u._id AS u FROM t JOIN u ON t._id = u.k WHERE u.n > 1",
    ])
    func `the order of sources does not change the rows`(_ statement: String) throws {
        let plan = try simulation.rows("EXPLAIN \(statement)")[0].json
        let outer = try #require(plan.firstMatch(of: /"collection":"(\w+)"/)).1
        #expect(outer == "u", "\(plan)")
        var expected = try simulation.rows(Self.isFixed + statement)
        var found = try simulation.rows(statement)
        #expect(!expected.isEmpty)
        if !statement.contains("ORDER BY") {
            expected.sort()
            found.sort()
        }
        #expect(found == expected)
    }

    @Test(arguments: [
        "SELECT * FROM u JOIN t ON t.k = u._id",
        "SELECT * FROM t LEFT JOIN u ON u._id = t.k",
        "SELECT * FROM t JOIN u ON u._id = t.k LIMIT 3",
        "SELECT * FROM t JOIN u ON u._id = t.k WHERE t._id < 3",
    ])
    func `the written order is kept`(_ statement: String) throws {
        let plan = try simulation.rows("EXPLAIN \(statement)")[0].json
        let fixed = try simulation.rows("EXPLAIN \(Self.isFixed)\(statement)")[0].json
        #expect(plan == fixed)
    }

    @Test func `a filter that may leave no rows of the first source keeps the written order`()
        throws
    {
        for start in stride(from: 0, to: 300, by: 100) {
            let documents = (start..<start + 100).map { "({'_id': \($0), 'n': 1})" }
            try simulation.execute("INSERT INTO w DOCUMENTS " + documents.joined(separator: ", "))
        }
        func outer(_ statement: String) throws -> String {
            let plan = try simulation.rows("EXPLAIN \(statement)")[0].json
            let match = try #require(plan.firstMatch(of: /"collection":"(\w+)"/))
            return String(match.1)
        }
        let joined = "SELECT t._id AS t, w.n AS n FROM t JOIN w ON w._id = t.k"
        #expect(try outer(joined) == "w")
        #expect(try outer(joined + " WHERE t.n = 2") == "t")
        // A filter on the other source leaves all rows of the first one.
        #expect(try outer(joined + " WHERE w.n = 1") == "w")
    }
}
