import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// Statements that run with other arguments, and so without a new plan.
///
/// Each result must equal that of a new statement: the same text with a unique comment.
@Suite struct CompiledStatementTests {
    private static let queries = [
        "SELECT _id, a FROM t WHERE a = :x",
        "SELECT * FROM t WHERE a = :x AND b = :y",
        "SELECT _id FROM t WHERE a = :x AND b > :y",
        "SELECT _id FROM t WHERE a = :x AND b >= :y AND b < :z ORDER BY b, _id",
        "SELECT _id FROM t WHERE a = :x AND a > :y AND b = :z",
        "SELECT _id FROM t WHERE a BETWEEN :x AND :y",
        "SELECT _id FROM t WHERE a > :x AND a <> :y",
        "SELECT _id, s FROM t WHERE b = :x ORDER BY a, _id LIMIT :n",
        "SELECT _id FROM t WHERE b = :x ORDER BY a DESC, s, _id LIMIT :n OFFSET :m",
        "SELECT _id FROM t WHERE _id = :x",
        "SELECT _id, s FROM t WHERE _id = :x AND s = :s",
        "SELECT _id FROM t WHERE _id > :x AND a = :y",
        "SELECT _id FROM t WHERE a IN (:x, :y, :z)",
        "SELECT _id FROM t WHERE _id IN (:x, :y, 3)",
        "SELECT _id FROM t WHERE a = :x AND s LIKE :p",
        "SELECT _id FROM t WHERE a = :x AND lower(s) = :s",
        "SELECT _id FROM t WHERE a = :x AND (b = 1 OR b = 3)",
        "SELECT _id FROM t WHERE a = :x OR b = :y",
        "SELECT _id FROM t WHERE NOT (a = :x)",
        "SELECT _id FROM t WHERE NOT (a = :x AND b = :y)",
        "SELECT _id FROM t WHERE a NOT BETWEEN :x AND :y",
        "SELECT _id FROM t WHERE a NOT IN (:x, :y)",
        "SELECT _id FROM t WHERE starts_with(s, :s)",
        "SELECT _id FROM t WHERE s = lower(:s) AND b <> :x",
        "SELECT _id FROM t WHERE a > :x + 1 AND b = -:y",
        "SELECT _id FROM t WHERE :x = 1 OR a = :y",
        "SELECT _id FROM t WHERE :x = 1",
        "SELECT _id FROM t WHERE :x IS NULL OR a = :x",
        "SELECT _id FROM t WHERE :x = 1 AND a = :y",
        "SELECT t._id, u.b FROM t JOIN t u ON u._id = t.r WHERE :x = 1 OR u.b = :y OR t.a = :z",
        "SELECT _id FROM t WHERE a = :x AND ANY v IN tags SATISFIES v = :y END",
        "SELECT _id FROM t WHERE a = :x AND s IS NOT MISSING AND o.p = :y",
        "SELECT _id FROM t WHERE o = {'p': :x, 'q': 1}",
        "SELECT COUNT(*) AS n FROM t WHERE a = :x",
        "SELECT b, COUNT(*) AS n, SUM(a) AS total FROM t WHERE a >= :x GROUP BY b ORDER BY b",
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n, a",
        "SELECT b, a, COUNT(*) AS n FROM t GROUP BY b, a ORDER BY b, a",
        "SELECT DISTINCT b FROM t WHERE a = :x ORDER BY b",
        "SELECT t._id, u.b FROM t JOIN t u ON u._id = t.r WHERE t.a = :x AND u.b = :y",
        "SELECT t._id, u._id AS other FROM t JOIN t u ON u.a = t.b AND u.b = :y WHERE t.a = :x",
        "SELECT t._id, u.s FROM t LEFT JOIN t u ON u._id = t.r AND u.a > :y WHERE t.a = :x",
        "SELECT t._id, u.s FROM t LEFT JOIN t u ON u._id = t.r WHERE t.a = :x AND u.b IS MISSING",
        "SELECT t._id, u.b FROM t JOIN t u ON u._id = t.r ORDER BY t.a, t._id LIMIT :n",
        "SELECT t._id, u.b FROM t JOIN t u ON u._id = t.r WHERE t.s LIKE :p ORDER BY t.a, t._id",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r WHERE ANY v IN u.tags SATISFIES v = :y END",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r WHERE u.b BETWEEN :x AND :y OR t.a = :z",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r WHERE t.a = :x AND u.b IN (:y, :z)",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r WHERE t.a = :x AND u.o = {'p': :y, 'q': 1}",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r AND u.b BETWEEN :x AND :y WHERE t.a = :z",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r AND (u.b = :x OR u.s = :s) WHERE t.a = :z",
        "SELECT t._id FROM t JOIN t u ON u._id = t.r AND u.b IN (:x, :y) WHERE t.a = :z",
        "SELECT _id.k AS k, _id.l AS l FROM c WHERE _id.k = :x",
        "SELECT _id.k AS k, v FROM c WHERE _id.k = :x ORDER BY v, _id.l LIMIT :n",
        "SELECT v FROM c WHERE _id = {'k': :x, 'l': :y}",
        "SELECT _id.k AS k, COUNT(*) AS n, SUM(v) AS total FROM c GROUP BY _id.k ORDER BY _id.k",
        "SELECT _id.l AS l, COUNT(*) AS n FROM c GROUP BY _id.l ORDER BY _id.l",
        "SELECT c._id.l AS l, t.a FROM c JOIN t ON t._id = c._id.l WHERE c._id.k = :x AND t.a > :y",
        "SELECT _id FROM c WHERE v = :x ORDER BY _id",
    ]

    /// Statements that change the documents of a condition, and the query of this condition.
    private static let changes = [
        ("UPDATE t SET hit = :hit WHERE a = :x", "SELECT _id FROM t WHERE a = :x"),
        (
            "UPDATE t SET hit = :hit WHERE a = :x AND b < :y",
            "SELECT _id FROM t WHERE a = :x AND b < :y"
        ),
        (
            "UPDATE t SET hit = :hit WHERE :x = 1 OR a = :y",
            "SELECT _id FROM t WHERE :x = 1 OR a = :y"
        ),
        (
            "UPDATE t SET hit = :hit WHERE _id IN (:x, :y)",
            "SELECT _id FROM t WHERE _id IN (:x, :y)"
        ),
        (
            "UPDATE t SET hit = :hit WHERE ANY v IN tags SATISFIES v = :y END AND a = :x",
            "SELECT _id FROM t WHERE ANY v IN tags SATISFIES v = :y END AND a = :x"
        ),
    ]

    private static let indexes = [
        "CREATE INDEX IF NOT EXISTS by_a ON t (a)", "CREATE INDEX IF NOT EXISTS by_a_b ON t (a, b)",
        "CREATE INDEX IF NOT EXISTS by_b_a ON t (b, a DESC)",
        "CREATE INDEX IF NOT EXISTS by_k_v ON c (_id.k, v)",
        "CREATE INDEX IF NOT EXISTS by_l ON c (_id.l)",
        "DROP INDEX IF EXISTS by_a ON t", "DROP INDEX IF EXISTS by_a_b ON t",
        "DROP INDEX IF EXISTS by_b_a ON t", "DROP INDEX IF EXISTS by_k_v ON c",
    ]

    private let store: InterpolationStore
    private var random: SeededRandom
    private var comments = 0

    init() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("compiled statements: seed \(seed)")
        random = SeededRandom(seed: seed, "compiled statements")
        store = try InterpolationStore()
    }

    @Test mutating func `a statement has the same result with and without a new plan`() throws {
        for _ in 0..<150 { try change() }
        for _ in 0..<900 {
            switch random.below(12) {
            case 0, 1: try change()
            case 2 where random.below(10) == 0:
                // EVICT keeps names and indexes, so cached plans stay valid while counts change.
                try store.execute("EVICT FROM t")
                for _ in 0..<4 { try compare() }
                for _ in 0..<100 { try change() }
            case 2: try store.execute(DQL(verbatim: Self.indexes[random.below(Self.indexes.count)]))
            case 3: try update()
            default: try compare()
            }
        }
    }

    /// Inserts 100 documents with few values of `a` and many of `b`, and an index on both.
    private func fill() throws {
        for id in 100..<200 {
            try store.execute(
                "INSERT INTO t DOCUMENTS ({_id: \(id), a: \(id % 4), b: \(id * 37 % 100), s: 'w'})")
        }
        try store.execute("CREATE INDEX by_a_b ON t (a, b)")
    }

    @Test func `further comparisons of a field restrict the later fields as well`() throws {
        try fill()
        let text: DQL = "SELECT _id FROM t WHERE a = :x AND a > :y AND b = :z"
        for id in 100..<104 as Range<Int64> {
            let arguments: [String: Value] = [
                "x": .integer(id % 4), "y": .integer(-1), "z": .integer(id * 37 % 100),
            ]
            let rows = try store.rows(text, QueryArguments(arguments))
            #expect(rows == [["_id": .integer(id)]])
        }
    }

    @Test func `a condition that was true with other arguments is evaluated`() throws {
        try fill()
        let text: DQL = "SELECT _id FROM t WHERE :all = true OR b = :b"
        #expect(try store.rows(text, ["all": true, "b": 3]).count == 101)
        #expect(try store.rows(text, ["all": true, "b": 4]).count == 101)
        #expect(try store.rows(text, ["all": false, "b": 3]).count == 1)
    }

    @Test func `each run evaluates its conditions with its own arguments`() throws {
        try fill()
        for b in 100..<110 as Range<Int64> {
            let arguments: [String: Value] = [
                "x": .integer(b % 4), "b": .integer(b * 37 % 100),
            ]
            let rows = try store.rows(
                "SELECT _id FROM t WHERE a = :x AND b + 0 = :b", QueryArguments(arguments))
            #expect(rows == [["_id": .integer(b)]])
        }
    }

    @Test(arguments: ["u.b = :b", "u.b = :b + 0", "u.b = -:c"])
    func `each run of a join restricts its source with its own arguments`(
        condition: String
    ) throws {
        try fill()
        let text = "SELECT u._id FROM t JOIN t u ON u.a = t.a WHERE t._id = :id AND \(condition)"
        let plan = try store.value(
            DQL(verbatim: "EXPLAIN \(text)"), ["id": 100, "b": 1, "c": -1])
        // A value that is computed from parameters is no constant of the plan.
        #expect(plan?.json.contains("b = :b\"") == (condition == "u.b = :b"), "\(plan?.json ?? "")")
        for id in 100..<140 as Range<Int64> {
            let b = id * 37 % 100
            let rows = try store.rows(DQL(verbatim: text), ["id": 100 + id % 6, "b": b, "c": -b])
            #expect(rows == (id % 6 % 4 == id % 4 ? [["_id": .integer(id)]] : []), "\(id)")
        }
    }

    @Test func `each run of a join needs all of its arguments`() throws {
        try fill()
        let text: DQL =
            "SELECT t._id FROM t LEFT JOIN t u ON u._id = t._id AND u.b < :y WHERE t.a = :x"
        for x in 0..<4 as Range<Int64> {
            #expect(try store.rows(text, ["x": x, "y": 50]).count == 25)
        }
        #expect(store.problem(text, ["x": 1])?.contains("Parameter y was not provided") == true)
    }

    @Test(arguments: [
        "regexp_like(s, p) AND :n = 1", "regexp_like(s, p) OR :n > 1", "b = 1 AND :n = 1",
    ])
    func `a condition that arguments decide fails in no run`(condition: String) throws {
        // This pattern is invalid.
        try store.execute("INSERT INTO f DOCUMENTS ({_id: 1, s: 'a', p: '(', b: 2})")
        let text = DQL(verbatim: "SELECT _id FROM f WHERE \(condition)")
        let wanted: [Value] = condition.contains("OR") ? [["_id": 1]] : []
        for n in 2..<6 { #expect(try store.rows(text, ["n": n]) == wanted) }
    }

    @Test(arguments: ["", "WHERE u.b > :b", "WHERE u.b IS MISSING"])
    func `a join with a limit has the first rows of the same join without`(condition: String) throws
    {
        try fill()
        for id in 200..<400 {
            try store.execute("INSERT INTO t DOCUMENTS ({_id: \(id), r: \(id * 7 % 110 + 95)})")
        }
        let text = """
            SELECT t._id AS t, u._id AS u FROM t LEFT JOIN t u ON u._id = t.r \(condition) \
            ORDER BY t._id
            """
        let all = try store.rows(DQL(verbatim: text), ["b": 50])
        #expect(all.count > 10)
        for (limit, offset) in [(1, 0), (1, 7), (5, 0), (20, 63), (64, 1), (100, 5), (290, 20)] {
            let limited = DQL(verbatim: text + " LIMIT :n OFFSET :m")
            let arguments: QueryArguments = ["b": 50, "n": limit, "m": offset]
            #expect(
                try store.rows(limited, arguments) == Array(all.dropFirst(offset).prefix(limit)),
                "LIMIT \(limit) OFFSET \(offset)")
        }
    }

    @Test func `rows with equal first terms are all compared`() throws {
        try fill()
        try store.execute("DROP INDEX by_a_b ON t")
        try store.execute("CREATE INDEX by_a ON t (a)")
        let rows = try store.rows("SELECT b FROM t WHERE a IS NOT MISSING ORDER BY a, b LIMIT 3")
        let wanted = (100..<200).filter { $0 % 4 == 0 }.map { $0 * 37 % 100 }.sorted().prefix(3)
        #expect(rows == wanted.map { .object(["b": .integer(Int64($0))]) })
    }

    @Test func `a join has only rows that its first condition allows`() throws {
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, r: 1, s: 'a'})")
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 3, r: 1, s: 'b'})")
        let rows = try store.rows(
            "SELECT t._id FROM t JOIN t u ON u._id = t.r WHERE t.s LIKE '%a'")
        #expect(rows == [["_id": 2]])
    }

    @Test func `a part of an id is found by its name, whatever the values before it are`() throws {
        try store.execute("INSERT INTO c DOCUMENTS ({_id: {'a': 'k', 'k': 5}})")
        #expect(try store.rows("SELECT _id.k AS k FROM c") == [["k": 5]])
    }

    @Test func `a condition that can throw is evaluated after all joins`() throws {
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 4, s: 'b'})")
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, r: 4, s: 'a', p: '('})")
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 3, r: 2, s: 'a', p: 'a'})")
        let rows = try store.rows(
            """
            SELECT t._id FROM t LEFT JOIN t u ON u._id = t.r \
            WHERE u.s = 'a' AND regexp_like(t.s, t.p)
            """)
        #expect(rows == [["_id": 3]])
    }

    private mutating func compare() throws {
        let text = Self.queries[random.below(Self.queries.count)]
        // The first runs make the plan, and the later ones use it again.
        for _ in 0..<4 {
            let arguments = arguments()
            #expect(
                result(text, arguments) == result(fresh(text), arguments),
                "\(text) with \(arguments)")
        }
    }

    private mutating func update() throws {
        let (text, query) = Self.changes[random.below(Self.changes.count)]
        var arguments = arguments()
        let hit = comments
        arguments["hit"] = .integer(Int64(hit))
        let wanted = result(fresh(query), arguments)
        if wanted.first == "error" { return }
        _ = try? store.execute(DQL(verbatim: text), QueryArguments(arguments))
        #expect(
            result("SELECT _id FROM t WHERE hit = \(hit)", [:]) == wanted,
            "\(text) with \(arguments)")
    }

    /// Returns a statement that has not run before.
    private mutating func fresh(_ text: String) -> String {
        comments += 1
        return "\(text) /* \(comments) */"
    }

    /// Returns the rows of a statement as JSON, sorted unless it has an order, or its error.
    private func result(_ text: String, _ arguments: [String: Value]) -> [String] {
        do {
            let rows = try store.rows(DQL(verbatim: text), QueryArguments(arguments)).map(\.json)
            return text.contains("ORDER BY") ? rows : rows.sorted()
        } catch {
            let message = (error as? StoreError)?.message ?? "\(error)"
            return ["error", message]
        }
    }

    private mutating func arguments() -> [String: Value] {
        var arguments: [String: Value] = [
            "n": .integer(Int64(random.below(8))), "m": .integer(Int64(random.below(3))),
            "s": .string("w\(random.below(5))"), "p": .string("w\(random.below(5))%"),
        ]
        for name in ["x", "y", "z"] { arguments[name] = value() }
        if random.below(20) == 0 { arguments["n"] = value() }
        if random.below(20) == 0 { arguments["y"] = nil }
        return arguments
    }

    private mutating func value() -> Value {
        switch random.below(14) {
        case 0: .null
        case 1: .float(Double(random.below(8)))
        case 2: .float(Double(random.below(8)) + 0.5)
        case 3: .string("w\(random.below(5))")
        default: .integer(Int64(random.below(8)))
        }
    }

    /// Inserts, changes or deletes a document.
    private mutating func change() throws {
        let id = Int64(random.below(200))
        switch random.below(8) {
        case 0: try store.execute("DELETE FROM t WHERE _id = \(id)")
        case 1: try store.execute("UPDATE t SET b = \(value()) WHERE _id = \(id)")
        case 2, 3:
            let key: Value = .object([
                "k": .integer(Int64(random.below(6))), "l": .integer(Int64(random.below(40))),
            ])
            try store.execute(
                "INSERT INTO c DOCUMENTS (:d) ON ID CONFLICT DO UPDATE",
                QueryArguments(["d": .object(["_id": key, "v": value()])]))
        default:
            var document: Object = [
                "_id": .integer(id), "s": .string("w\(random.below(5))"),
                "r": .integer(Int64(random.below(200))),
                "tags": .array([value(), value()]), "o": .object(["p": value(), "q": 1]),
            ]
            if random.below(6) > 0 { document["a"] = value() }
            if random.below(6) > 0 { document["b"] = value() }
            try store.execute(
                "INSERT INTO t DOCUMENTS (:d) ON ID CONFLICT DO UPDATE",
                QueryArguments(["d": .object(document)]))
        }
    }
}
