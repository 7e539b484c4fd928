import SheafDocument
import SheafQuery
import Testing

/// The fields, names and reasons of suggested indexes.
@Suite struct AdviceChoiceTests {
    private typealias Index = CountedStore.Index

    /// Returns the outcome of ADVISE, and the statement of each suggested index with its reason.
    private func advice(
        _ text: String, _ indexes: [Index] = []
    ) throws -> (outcome: Value?, indexes: [String]) {
        let store = CountedStore()
        store.add("c", 1_000, indexes)
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        let advice = try QueryRun(try Parser.parse("ADVISE " + text), on: store, options).advice()
        let row = try #require(advice.rows.items.first).object(NameTable())
        guard case .object(let answer)? = row["advice"],
            case .array(let suggestions)? = answer["suggestedIndexes"]
        else { return (nil, ["\(row)"]) }
        let found = suggestions.map { suggestion in
            guard case .object(let index) = suggestion,
                case .string(let statement)? = index["statement"],
                case .string(let reason)? = index["reason"]
            else { return "\(suggestion)" }
            return "\(statement): \(reason)"
        }
        #expect(found.count == advice.indexes.count, "\(text)")
        return (answer["outcome"], found)
    }

    @Test(arguments: [
        ("WHERE a = 1 AND b > 2 ORDER BY b", "c_a_b ON c (a, b)", "by a, has the order of b"),
        ("WHERE a = 1 AND b > 2 ORDER BY d", "c_a_b ON c (a, b)", "by a, finds a range of b"),
        (
            "WHERE a = 1 AND b > 2 ORDER BY d LIMIT 5", "c_a_d ON c (a, d)",
            "by a, has the order of d"
        ),
        ("WHERE a = 1 ORDER BY d DESC", "c_a_d ON c (a, d DESC)", "by a, has the order of d"),
        ("WHERE a = 1 ORDER BY a, d", "c_a_d ON c (a, d)", "by a, has the order of d"),
        ("WHERE a = 1 ORDER BY d, _id, b", "c_a_d ON c (a, d)", "by a, has the order of d"),
        ("WHERE a IN (1, 2) ORDER BY d LIMIT 5", "c_a ON c (a)", "by a"),
        ("WHERE a IN (1, 2) AND b = 1", "c_b_a ON c (b, a)", "by b, a"),
        ("WHERE a = 1 AND b > 2 AND d < 7", "c_a_b ON c (a, b)", "by a, finds a range of b"),
        ("WHERE a = 1 AND _id > 5", "c_a ON c (a)", "by a"),
        ("WHERE a = 1 AND b != 5", "c_a ON c (a)", "by a"),
        ("WHERE a = 1 AND b IS NOT MISSING", "c_a ON c (a)", "by a"),
        ("WHERE a IS NULL", "c_a ON c (a)", "by a"),
    ])
    func `an index has the equal fields, then a range or the order of the rows`(
        clauses: String, index: String, reason: String
    ) throws {
        let found = try advice("SELECT * FROM c " + clauses)
        #expect(found.indexes == ["CREATE INDEX \(index): finds documents \(reason)"], "\(clauses)")
        #expect(found.outcome == "1 index suggested")
    }

    @Test(arguments: [
        ("WHERE b > 2", "c_b ON c (b): finds a range of b"),
        ("ORDER BY d DESC, b LIMIT 3", "c_d_b ON c (d DESC, b): has the order of d, b"),
        ("ORDER BY d, _id LIMIT 3", "c_d ON c (d): has the order of d"),
    ])
    func `an index without equal fields has a range or the order of the rows`(
        clauses: String, index: String
    ) throws {
        #expect(try advice("SELECT * FROM c " + clauses).indexes == ["CREATE INDEX " + index])
    }

    @Test(arguments: [
        "SELECT * FROM c ORDER BY _id LIMIT 3", "SELECT * FROM c ORDER BY _id.x, d LIMIT 3",
        "SELECT * FROM c ORDER BY d", "SELECT * FROM c WHERE a IS NOT NULL",
        "SELECT * FROM c WHERE a IS NOT MISSING", "SELECT * FROM c WHERE a NOT IN (3)",
        "SELECT * FROM c USE IDS 1 WHERE a = 1", "SELECT DISTINCT a FROM c ORDER BY a LIMIT 3",
        "SELECT * FROM c JOIN d USE INDEX 'x' ON d.k = c.a",
        "SELECT * FROM c WHERE a = 1 OR lower(b) = 'x'", "SELECT * FROM c WHERE a = 1 AND false",
    ])
    func `no index is suggested where none finds fewer documents`(text: String) throws {
        let found = try advice(text)
        #expect(found.indexes == [])
        #expect(found.outcome == "no index helps this statement")
    }

    @Test(arguments: [5, 6])
    func `an index covers a grouping with up to six fields`(sums: Int) throws {
        let fields = (0..<sums).map { "f\($0)" }
        let columns = fields.map { "SUM(\($0)) AS s\($0)" }.joined(separator: ", ")
        let found = try advice("SELECT a, \(columns) FROM c GROUP BY a").indexes
        let index =
            "CREATE INDEX c_a_\(fields.joined(separator: "_")) ON c "
            + "(a, \(fields.joined(separator: ", "))): contains all fields that the statement reads"
        #expect(found == (sums == 5 ? [index] : []))
        let filtered = try advice("SELECT a, COUNT(*) AS n FROM c WHERE b = 1 GROUP BY a").indexes
        let reason = "finds documents by b, contains all fields that the statement reads"
        #expect(filtered == ["CREATE INDEX c_b_a ON c (b, a): \(reason)"])
    }

    @Test(arguments: [64, 65])
    func `each of up to 64 branches of OR gets an index`(count: Int) throws {
        let branches = (0..<count).map { "f\($0) = 1" }.joined(separator: " OR ")
        let found = try advice("SELECT * FROM c WHERE " + branches)
        #expect(found.indexes.count == (count == 64 ? 64 : 0))
        let outcome = count == 64 ? "64 indexes suggested" : "no index helps this statement"
        #expect(found.outcome == .string(outcome))
        let some = try advice("SELECT * FROM c WHERE (a = 1 OR b > 2) AND lower(d) = 'x'")
        #expect(
            some.indexes == [
                "CREATE INDEX c_a ON c (a): finds documents by a",
                "CREATE INDEX c_b ON c (b): finds a range of b",
            ])
    }

    @Test func `an index with the same fields in any order, or turned, is not suggested`() throws {
        func isServed(_ clauses: String, _ fields: Index...) throws -> Bool {
            try advice("SELECT * FROM c " + clauses, fields).indexes.isEmpty
        }
        #expect(try isServed("WHERE b = 1 AND a = 2", Index("a", "b")))
        #expect(try isServed("WHERE b = 1 AND a = 2", Index("a", "b", "d")))
        #expect(try !isServed("WHERE b = 1 AND a = 2", Index("a", "d", "b")))
        #expect(try !isServed("WHERE b = 1 AND a = 2", Index("a")))
        #expect(try isServed("WHERE a = 1 AND b > 2", Index("d"), Index("a", "b")))
        #expect(try !isServed("WHERE a = 1 AND b > 2", Index("b", "a")))
        #expect(try !isServed("WHERE a = 1 AND b > 2", Index("a")))
        #expect(try isServed("WHERE a = 1 ORDER BY b LIMIT 2", Index("a", "b-")))
        let order = "WHERE a = 1 ORDER BY b, d DESC LIMIT 2"
        #expect(try isServed(order, Index("a", "b", "d-")))
        #expect(try isServed(order, Index("a", "b-", "d")))
        #expect(try !isServed(order, Index("a", "b", "d")))
        #expect(try !isServed(order, Index("a", "b-", "d-")))
        #expect(try !isServed(order, Index("a", "d-", "b")))
        let grouped = "SELECT a, SUM(b) AS s FROM c GROUP BY a"
        #expect(try advice(grouped, [Index("b", "a")]).indexes.isEmpty)
        #expect(try advice(grouped, [Index("a", "d")]).indexes.count == 1)
    }

    @Test func `the name of an index has the letters of its fields, and a number if in use`() throws
    {
        let unusual = try advice("SELECT * FROM `my c` WHERE `a-b`.`é` = 1").indexes
        let index = "CREATE INDEX my_c_a_b___ ON `my c` (`a-b`.`é`): finds documents by `a-b`.`é`"
        #expect(unusual == [index])
        let long = String(repeating: "x", count: 200)
        let found = try advice("SELECT * FROM c WHERE \(long) = 1").indexes
        let name = "c_" + String(repeating: "x", count: 118)
        #expect(found == ["CREATE INDEX \(name) ON c (\(long)): finds documents by \(long)"])
        // These indexes are named `c_a` and `c_a_2`.
        let taken = [Index("c", "a"), Index("c", "a", "2")]
        let numbered = try advice("SELECT * FROM c WHERE a = 1", taken).indexes
        #expect(numbered == ["CREATE INDEX c_a_3 ON c (a): finds documents by a"])
    }

    @Test func `a join gets an index on a field that it compares`() throws {
        let index = "CREATE INDEX d_k ON d (k): for a join, finds documents by k"
        let text = "SELECT * FROM c JOIN d ON d.k = c.a AND d.n = c.b"
        #expect(try advice(text).indexes == [index])
        // A right join adds documents without one of the first collection.
        let right = "SELECT * FROM c RIGHT JOIN d ON d.k = c.a WHERE c.b = 1"
        #expect(try advice(right).indexes == [index])
        let found = try advice("SELECT * FROM c JOIN d ON d._id = c.a AND d.n = c.b").indexes
        #expect(found == [])
    }
}
