import SheafDocument
import SheafQuery
import Testing

/// The fields and names of suggested indexes, beside an index that may serve the statement.
@Suite struct AdvisedFieldTests {
    /// Returns the advice for a statement on collections that have an index on `existing`, if any.
    private func advice(_ text: String, _ existing: [IndexDescription.Field] = []) throws -> Advice
    {
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        let statement = try Parser.parse("ADVISE " + text)
        return try QueryRun(statement, on: EmptyStore(existing), options).advice()
    }

    /// Returns the collection and the fields of each suggested index.
    private func indexes(
        _ text: String, beside existing: [IndexDescription.Field] = []
    ) throws -> [String] {
        try advice(text, existing).indexes.map { index in
            let fields = index.fields.map {
                $0.path.names.joined(separator: ".") + ($0.isDescending ? " DESC" : "")
            }
            return "\(index.collection.text) (\(fields.joined(separator: ", ")))"
        }
    }

    private static let conditions: [(condition: String, indexes: [String])] = [
        ("a = 1 AND b = 2", ["t (a, b)"]), ("b > 2 AND a = 1", ["t (a, b)"]),
        ("a > 1 AND b > 2", ["t (a)"]), ("a < 5", ["t (a)"]), ("a != 5", []),
        ("a IS NULL", ["t (a)"]),
        ("a IN (1, 2) AND b = 3", ["t (b, a)"]),
        ("a IN (1, 2) AND c > 1 AND b = 3", ["t (b, a, c)"]),
        ("a IN (1, 2) ORDER BY c LIMIT 1", ["t (a)"]), ("a IN (1) ORDER BY c", ["t (a, c)"]),
        ("a.b = 1 AND starts_with(c, 'x')", ["t (a.b, c)"]),
        ("a = 1 ORDER BY b, c DESC", ["t (a, b, c DESC)"]),
        ("a = 1 AND c > 2 ORDER BY b", ["t (a, c)"]),
        ("a = 1 AND c > 2 ORDER BY c DESC, d", ["t (a, c DESC, d)"]),
        ("a = 1 AND c > 2 ORDER BY b LIMIT 1", ["t (a, b)"]),
        ("a = 1 ORDER BY a, b LIMIT 2", ["t (a, b)"]),
        ("a = 1 ORDER BY b, _id, c", ["t (a, b)"]), ("a = 1 ORDER BY b, lower(c)", ["t (a)"]),
        ("true ORDER BY a DESC, b LIMIT 1", ["t (a DESC, b)"]), ("true ORDER BY a, b", []),
        ("true ORDER BY _id LIMIT 1", []), ("_id = 1 AND a = 2", []),
        ("_id > 1 AND a = 2", ["t (a)"]),
        ("a = 1 AND a = 2", []), ("a = 1 AND false", []),
        ("a = 1 OR b = 2 AND c > 3", ["t (a)", "t (b, c)"]), ("a = 1 OR a = 2", ["t (a)"]),
        ("a = 1 OR _id = 2", ["t (a)"]), ("a = 1 OR lower(b) = 'x'", []),
        ("d = 1 AND (a = 1 OR b = 2)", ["t (d)"]),
        ("lower(d) = 'x' AND (a = 1 OR b = 2)", ["t (a)", "t (b)"]),
    ]

    @Test(arguments: conditions)
    func `an index has equal fields, then lists, then the order or the first range`(
        tested: (condition: String, indexes: [String])
    ) throws {
        #expect(try indexes("SELECT * FROM t WHERE " + tested.condition) == tested.indexes)
    }

    private static func fields(_ names: String...) -> [IndexDescription.Field] {
        names.map { name in
            let isDescending = name.hasSuffix("-")
            return IndexDescription.Field(
                [isDescending ? String(name.dropLast()) : name], isDescending: isDescending)
        }
    }

    private static let group = "SELECT a, SUM(b) AS s FROM t WHERE y = 1 GROUP BY a"

    /// A statement, the fields of an index, and whether the index serves the statement.
    private typealias Served = (text: String, fields: [IndexDescription.Field], isServed: Bool)

    private static let served: [Served] = [
        ("SELECT * FROM t WHERE a = 1 AND b = 2", fields("b", "a"), true),
        ("SELECT * FROM t WHERE a = 1 AND b = 2", fields("a", "b", "c"), true),
        ("SELECT * FROM t WHERE a = 1 AND b = 2", fields("a"), false),
        ("SELECT * FROM t WHERE a = 1 AND b = 2", fields("c", "a", "b"), false),
        ("SELECT * FROM t WHERE a = 1 AND b = 2", fields("a", "c", "b"), false),
        ("SELECT * FROM t WHERE a = 1 AND b > 2", fields("a", "b"), true),
        ("SELECT * FROM t WHERE a = 1 AND b > 2", fields("a", "b-"), true),
        ("SELECT * FROM t WHERE a = 1 AND b > 2", fields("b", "a"), false),
        ("SELECT * FROM t WHERE a = 1 AND b > 2", fields("a", "c"), false),
        ("SELECT * FROM t ORDER BY a, b DESC LIMIT 1", fields("a", "b-"), true),
        ("SELECT * FROM t ORDER BY a DESC, b LIMIT 1", fields("a", "b-"), true),
        ("SELECT * FROM t ORDER BY a, b LIMIT 1", fields("a", "b-"), false),
        ("SELECT * FROM t ORDER BY a DESC, b DESC LIMIT 1", fields("a", "b-"), false),
        (group, fields("y", "b", "a"), true), (group, fields("y", "a", "c", "b"), true),
        (group, fields("y", "a"), false), (group, fields("a", "b", "y"), false),
        ("SELECT * FROM o JOIN t ON t.a = o.b AND t.c = o.d", fields("c", "x"), true),
        ("SELECT * FROM o JOIN t ON t.a = o.b AND t.c = o.d", fields("x", "c"), false),
    ]

    @Test(arguments: served)
    func `an index is suggested unless one serves the statement, which is listed once`(
        tested: (text: String, fields: [IndexDescription.Field], isServed: Bool)
    ) throws {
        let advice = try advice(tested.text, tested.fields)
        #expect(advice.indexes.isEmpty == tested.isServed)
        guard tested.isServed else { return }
        let row = try #require(advice.rows.items.first).object(NameTable())
        guard case .object(let answer)? = row["advice"],
            case .array(let existing)? = answer["existingIndexes"]
        else {
            Issue.record("a row without existing indexes: \(row)")
            return
        }
        #expect(existing.count == 1)
        #expect(answer["outcome"] == "the statement has the indexes it needs")
    }

    @Test func `joins, ids and groups have their own suggestions`() throws {
        #expect(try indexes("SELECT * FROM o JOIN t ON t.a = o.b AND t.c = o.d") == ["t (a)"])
        #expect(
            try indexes("SELECT * FROM o JOIN t ON t.a = o.b WHERE o.x = 1") == ["o (x)", "t (a)"])
        #expect(try indexes("SELECT * FROM o JOIN t ON t._id = o.b") == [])
        #expect(try indexes("SELECT * FROM t USE IDS 'x' WHERE a = 1") == [])
        #expect(try indexes("SELECT DISTINCT a FROM t ORDER BY a LIMIT 1") == [])
        #expect(try indexes("SELECT a, SUM(b) AS s FROM t GROUP BY a") == ["t (a, b)"])
        #expect(try indexes(Self.group) == ["t (y, a, b)"])
    }

    @Test func `an index covers a statement that reads up to six fields`() throws {
        for count in 1...6 {
            let sums = (0..<count).map { "SUM(n\($0)) AS s\($0)" }.joined(separator: ", ")
            let found = try advice("SELECT \(sums) FROM t WHERE y = 1").indexes
            #expect(found.map(\.fields.count) == [count <= 5 ? count + 1 : 1])
        }
    }

    @Test func `at most 16 fields and 64 branches of OR get indexes`() throws {
        for count in [15, 16, 17] {
            let terms = (0..<count).map { "n\($0) = 1" }.joined(separator: " AND ")
            let found = try advice("SELECT * FROM t WHERE " + terms).indexes
            #expect(found.map(\.fields.count) == (count <= 16 ? [count] : []))
        }
        for count in [63, 64, 65] {
            let terms = (0..<count).map { "n\($0) = 1" }.joined(separator: " OR ")
            let found = try advice("SELECT * FROM t WHERE " + terms).indexes
            #expect(found.count == (count <= 64 ? count : 0))
        }
    }

    @Test func `the name of an index has up to 120 letters, and a number if it is in use`() throws {
        func names(_ text: String) throws -> [String] {
            try advice(text).indexes.map(\.name.text)
        }
        #expect(
            try names("SELECT * FROM `k\u{E4}` WHERE `a b`.c = 1 AND D_1 > 2")
                == ["k___a_b_c_D_1"])
        let long = String(repeating: "c", count: 150)
        let start = String(repeating: "c", count: 120)
        #expect(
            try names("SELECT * FROM \(long) WHERE a = 1 OR b = 1 OR d = 1")
                == [start, start + "_2", start + "_3"])
        let fitting = String(repeating: "c", count: 118)
        #expect(try names("SELECT * FROM \(fitting) WHERE a = 1") == [fitting + "_a"])
        #expect(try names("SELECT * FROM \(fitting) WHERE ab = 1") == [fitting + "_a"])
    }
}
