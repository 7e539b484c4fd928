import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// Rows that are made of the entries of a covering index.
///
/// Each result must equal that of a scan of the documents.
@Suite struct EntryRowTests {
    private let store: InterpolationStore
    private var random: SeededRandom

    init() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("entry rows: seed \(seed)")
        random = SeededRandom(seed: seed, "entry rows")
        store = try InterpolationStore()
    }

    private static let values: [Value?] = [
        nil, .null, .bool(true), .bool(false), .integer(-3), .integer(2), .float(2), .float(2.5),
        .float(-0.0), .integer(9_007_199_254_740_993), .string(""), .string("a"),
        .string("\u{0}b\u{1}"), .string("é"), .bytes([0, 255]), .array([1.5, .null, 2.0]),
        .object(["k": 1.0, "l": .array([2.5])]),
    ]

    /// Inserts documents into `u`, and some that refer to them into `v`.
    private mutating func fill(_ fields: String) throws {
        var documents: [Value] = []
        for id in 0..<400 {
            var document: Object = ["_id": .object(["k": .integer(Int64(id)), "l": "x"])]
            document["a"] = Self.values[random.below(Self.values.count)]
            document["b"] = Self.values[random.below(Self.values.count)]
            document["c"] = Self.values[random.below(Self.values.count)]
            documents.append(.object(document))
        }
        try store.execute(
            "INSERT INTO u DOCUMENTS (:all)", QueryArguments(["all": .array(documents)]))
        for (number, value) in Self.values.enumerated() {
            var document: Object = [
                "_id": .integer(Int64(number)), "g": .integer(Int64(number % 3)),
            ]
            document["a"] = value
            try store.execute(
                "INSERT INTO v DOCUMENTS (:one)", QueryArguments(["one": .object(document)]))
        }
        try store.execute(DQL(verbatim: "CREATE INDEX ix ON u (\(fields))"))
    }

    /// Expects the same rows, in any order, from the index and from the documents.
    private func compare(_ text: String) throws {
        let plan = try store.value(DQL(verbatim: "EXPLAIN \(text)"))
        #expect(plan?.json.contains("\"covering\":true") == true, "\(plan?.json ?? "")")
        let found = try store.rows(DQL(verbatim: text)).map(\.json).sorted()
        let scanning = text.replacing("USE INDEX ix", with: "USE INDEX ''")
        #expect(try found == store.rows(DQL(verbatim: scanning)).map(\.json).sorted(), "\(text)")
    }

    @Test(arguments: ["a, b, c", "a DESC, b, c DESC", "c, b DESC, a"])
    func `entries have the values of their documents`(fields: String) throws {
        var copy = self
        try copy.fill(fields)
        for text in [
            "SELECT _id, a, b, c FROM u USE INDEX ix",
            "SELECT _id.k AS k, b, c, a FROM u USE INDEX ix",
            "SELECT b AS x, c AS y FROM u USE INDEX ix WHERE a IS NOT MISSING",
            "SELECT DISTINCT a FROM u USE INDEX ix",
            "SELECT a, COUNT(*) AS n, SUM(b) AS total, MAX(c) AS last FROM u USE INDEX ix GROUP BY a",
            "SELECT b, a, COUNT(c) AS n FROM u USE INDEX ix GROUP BY b, a",
            "SELECT _id.l AS l, COUNT(b) AS n FROM u USE INDEX ix GROUP BY _id.l",
            "SELECT COUNT(a) AS n, AVG(b) AS mean, MIN(_id.k) AS low FROM u USE INDEX ix",
        ] {
            try compare(text)
        }
    }

    @Test mutating func `joins by an index have the rows of a scan`() throws {
        try fill("a, b")
        for text in [
            "SELECT v._id, u._id.k AS k, u.b FROM v JOIN u USE INDEX ix ON u.a = v.a",
            "SELECT v._id, u.b FROM v LEFT JOIN u USE INDEX ix ON u.a = v.a AND u.b = 2",
            "SELECT v._id, u._id.k AS k FROM v JOIN u USE INDEX ix ON u.a = v.a WHERE u.b > v._id",
        ] {
            try compare(text)
        }
    }

    @Test mutating func `counted joins return the counts of a scan`() throws {
        try fill("a, b")
        for text in [
            "SELECT v.g, COUNT(*) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a GROUP BY v.g",
            "SELECT COUNT(*) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a WHERE v.g > 0",
            "SELECT v.g, COUNT(*) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a GROUP BY v.g "
                + "HAVING COUNT(*) > 60",
            "SELECT v.g, COUNT(*) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a AND u.b = 2 "
                + "GROUP BY v.g",
        ] {
            let plan = try store.value(DQL(verbatim: "EXPLAIN \(text)"))
            #expect(plan?.json.contains("\"matches\":\"counted\"") == true)
            try compare(text)
        }
        // These need the matches themselves.
        for text in [
            "SELECT v.g, COUNT(u.b) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a GROUP BY v.g",
            "SELECT v.g, COUNT(*) AS n FROM v LEFT JOIN u USE INDEX ix ON u.a = v.a GROUP BY v.g",
            "SELECT v.g, COUNT(*) AS n, SUM(v._id) AS total FROM v "
                + "JOIN u USE INDEX ix ON u.a = v.a GROUP BY v.g",
            "SELECT v.g, COUNT(*) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a "
                + "WHERE u.b > 1 GROUP BY v.g",
            "SELECT v.g, COUNT(*) AS n FROM v JOIN u USE INDEX ix ON u.a = v.a AND u.b > 1 "
                + "GROUP BY v.g",
        ] {
            let plan = try store.value(DQL(verbatim: "EXPLAIN \(text)"))
            #expect(plan?.json.contains("\"matches\":\"counted\"") == false, "\(text)")
            try compare(text)
        }
    }
}
