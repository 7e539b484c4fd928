import SheafDocument
import SheafQueryModel
import SheafTestSupport
import Testing

/// Joins by hash, compared with joins by scans.
@Suite struct HashJoinTests {
    private let simulation: QuerySimulation

    init() throws {
        simulation = try QuerySimulation(seed: 1)
        var random = SeededRandom(seed: 3, "hash joins")
        for collection in ["t", "u"] {
            let documents = (0..<60).map { number in
                var document: Object = ["_id": .integer(Int64(number))]
                // A third of the documents have one of two keys.
                let key = random.chance(1, in: 3) ? random.below(2) : random.below(30)
                document["k"] =
                    switch random.below(8) {
                    case 0: .float(Double(key))
                    case 1: .string("\(key)")
                    case 2: .array([.integer(Int64(key)), .null])
                    case 3: random.chance(1, in: 2) ? .null : nil
                    default: .integer(Int64(key))
                    }
                document["n"] = .integer(Int64(random.below(4)))
                return Value.object(document)
            }
            let list = documents.indices.map { "(:d\($0))" }.joined(separator: ", ")
            try simulation.execute(
                "INSERT INTO \(collection) DOCUMENTS \(list)",
                Dictionary(uniqueKeysWithValues: documents.enumerated().map { ("d\($0)", $1) }))
        }
    }

    private func rows(_ text: String, bytes: Int) throws -> [String] {
        simulation.maximumHashBytes = bytes
        return try simulation.rows(text).map(\.json).sorted()
    }

    private static let statements = [
        "SELECT t._id AS t, u._id AS u FROM t JOIN u USE INDEX '' ON {t.k = u.k}",
        "SELECT t._id AS t, u._id AS u FROM t LEFT JOIN u USE INDEX '' ON {t.k = u.k} AND u.n > 1",
        "SELECT t._id AS t, u._id AS u FROM t RIGHT JOIN u USE INDEX '' ON {u.k = t.k}",
        "SELECT t._id AS t FROM t LEFT JOIN u USE INDEX '' ON {t.k = u.k} WHERE u._id IS MISSING",
        "SELECT DISTINCT t.k, t.n FROM t JOIN u USE INDEX '' ON {t.k = u.k} AND u.n = 2",
        "SELECT t._id AS t, u._id AS u FROM t JOIN u USE INDEX '' ON {t.k = u.k} AND {t.n = u.n}",
        """
        SELECT t._id AS t, u._id AS u, v._id AS v FROM t LEFT JOIN u USE INDEX '' ON {t.k = u.k} \
        RIGHT JOIN t AS v USE INDEX '' ON {v.n = u.n} AND v.k = 3
        """,
        """
        SELECT t._id AS t, u._id AS u, v._id AS v FROM t RIGHT JOIN u USE INDEX '' ON {t.k = u.k} \
        LEFT JOIN t AS v USE INDEX '' ON {v.k = u.k} AND v.n = 1
        """,
    ]

    @Test(arguments: statements, [20_000, 3_000, 400, 1])
    func `a hash table of any size joins the same rows as a scan`(
        _ statement: String, _ bytes: Int
    ) throws {
        let hashed = statement.replacing(/[{}]/, with: "")
        // A negated comparison is no equality, so it is evaluated for each pair.
        let scanned = statement.replacing(/\{(\S+) = (\S+)\}/) { "NOT \($0.1) != \($0.2)" }
        let expected = try rows(scanned, bytes: bytes)
        #expect(!expected.isEmpty)
        #expect(try rows(hashed, bytes: .max) == expected)
        #expect(try rows(hashed, bytes: bytes) == expected)
    }

    @Test func `a limit ends a join of several passes`() throws {
        let text = "SELECT t._id AS t, u._id AS u FROM t JOIN u ON t.k = u.k"
        let all = try rows(text, bytes: .max)
        let found = try rows(text + " LIMIT 9", bytes: 1_000)
        #expect(found.count == 9 && Set(found).count == 9)
        #expect(Set(found).isSubset(of: all))
    }

    @Test func `expressions and constants are compared by hash`() throws {
        let text = "SELECT t._id AS t, u._id AS u FROM t JOIN u ON u.n + 1 = t.n AND 2 = u.n"
        let found = try rows(text, bytes: .max)
        let expected =
            try simulation.rows("SELECT _id FROM t WHERE n = 3").count
            * simulation.rows("SELECT _id FROM u WHERE n = 2").count
        #expect(found.count == expected && expected > 0)
    }

    @Test func `pending documents are joined`() throws {
        try simulation.execute("INSERT INTO u DOCUMENTS ({'_id': 'new', 'k': 'only here'})")
        try simulation.execute("INSERT INTO t DOCUMENTS ({'_id': 'new', 'k': 'only here'})")
        let found = try simulation.rows(
            "SELECT t._id AS t, u._id AS u FROM t JOIN u ON t.k = u.k WHERE t.k = 'only here'",
            isPending: true)
        #expect(found == [["t": "new", "u": "new"]])
    }
}
