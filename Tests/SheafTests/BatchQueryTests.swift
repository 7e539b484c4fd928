import SheafDocument
import SheafQueryModel
import SheafTestSupport
import Testing

/// Statements that read fields of batches of documents, compared with those that read single rows.
@Suite struct BatchQueryTests {
    private let simulation: QuerySimulation
    /// Values of all types, with equal numbers in several forms.
    private static let values: [Value?] = [
        nil, .null, true, false, 1, 1.0, 0, -0.0, 2.5, 19.99, 0.1, .integer(.max), 9.3e18, "", "a",
        "b", "a text of more than fifteen bytes", [1], [1.0], ["k": 1], ["k": 1.0],
    ]

    init() throws {
        simulation = try QuerySimulation(seed: 1)
        var random = SeededRandom(seed: 7, "batches")
        for start in stride(from: 0, to: 600, by: 100) {
            let documents = (start..<start + 100).map { number in
                var document: Object = ["_id": .integer(Int64(number))]
                document["k"] = Self.values[random.below(Self.values.count)]
                document["v"] = Self.values[random.below(Self.values.count)]
                document["o"] = Self.values[random.below(6)].map { ["k": $0] }
                return Value.object(document)
            }
            let list = documents.indices.map { "(:d\($0))" }.joined(separator: ", ")
            try simulation.execute(
                "INSERT INTO t DOCUMENTS \(list)",
                Dictionary(uniqueKeysWithValues: documents.enumerated().map { ("d\($0)", $1) }))
        }
        try simulation.execute("UPDATE COLLECTION t (c PN_COUNTER) APPLY c PN_INCREMENT BY 2")
    }

    /// Replaces each `{x}` by the field x, or by an expression that reads it from single rows.
    private func rows(_ text: String, inBatches: Bool) throws -> [Value] {
        try simulation.rows(
            text.replacing(/\{([a-z.]+)\}/) { match in
                inBatches ? String(match.1) : "CASE WHEN true THEN \(match.1) END"
            })
    }

    // Loops instead of arguments: each case of a test would fill a store of its own.
    @Test func `groups of fields are those of equal expressions`() throws {
        for keys in ["{k}", "{o.k}", "{c}", "{k}, {v}", "{o.k}, {k}", "{c}, {k}"] {
            let text = """
                SELECT COUNT(*) AS n, COUNT({v}) AS c, SUM({v}) AS s, AVG({v}) AS a, \
                MIN({v}) AS l, MAX({v}) AS m, SUM({c}) AS p, MAX({c}) AS q, COUNT({o}) AS o, \
                MIN({k}) AS k FROM t GROUP BY \(keys)
                """
            let found = try rows(text, inBatches: true)
            #expect(found.count > 1 || keys == "{c}", "\(keys)")
            #expect(found == (try rows(text, inBatches: false)), "\(keys)")
        }
    }

    @Test func `keys of groups are in canonical form`() throws {
        for keys in ["k", "o.k", "v"] {
            let found = try simulation.rows("SELECT \(keys) FROM t GROUP BY \(keys)")
            let expected = try simulation.rows("SELECT DISTINCT \(keys) FROM t")
            #expect(found.map(\.json).sorted() == expected.map(\.json).sorted(), "\(keys)")
        }
    }

    @Test func `aggregates without groups read batches`() throws {
        let text = "SELECT COUNT({k}) AS n, SUM({v}) AS s, AVG({v}) AS a, MAX({v}) AS m FROM t"
        #expect(try rows(text, inBatches: true) == (try rows(text, inBatches: false)))
        let none = "SELECT COUNT({k}) AS n, SUM({v}) AS s FROM t WHERE k = 'none'"
        #expect(try rows(none, inBatches: true) == [["n": 0]])
    }

    @Test func `the first rows are those of an equal expression`() throws {
        for order in ["{v}", "{v} DESC", "{k}, {v} DESC", "{o.k} DESC, {k}"] {
            let text = "SELECT _id FROM t ORDER BY \(order) LIMIT 40"
            let found = try rows(text, inBatches: true)
            #expect(found == (try rows(text, inBatches: false)), "\(order)")
        }
    }

    @Test func `joined rows keep their order`() throws {
        try simulation.execute("INSERT INTO u DOCUMENTS ({'_id': 1, 'x': 1}), ({'_id': 'a'})")
        for kind in ["INNER", "LEFT"] {
            // A directive fixes the order of the sources.
            let text = """
                SELECT /*+ {"#prefer_order": false} */ t._id AS t, u._id AS u \
                FROM t \(kind) JOIN u ON u._id = {t.k}
                """
            let found = try rows(text, inBatches: true)
            #expect(!found.isEmpty)
            // A lookup by an index or a scan visits one row after the other.
            let single = text.replacing("JOIN u ON", with: "JOIN u USE INDEX '' ON")
            #expect(found == (try rows(single, inBatches: true)))
            let limited = try rows(text + " LIMIT 70", inBatches: true)
            #expect(limited == Array(found.prefix(70)))
        }
    }
}
