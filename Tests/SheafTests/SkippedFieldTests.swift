import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafTestSupport
import Testing

/// Skip scans, and groups that are counted by an index.
@Suite struct SkippedFieldTests {
    private let store: InterpolationStore
    private var random: SeededRandom

    init() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("skipped fields: seed \(seed)")
        random = SeededRandom(seed: seed, "skipped fields")
        store = try InterpolationStore()
    }

    private static let firstValues: [Value?] = [
        nil, .null, .bool(true), .integer(-3), .float(2.5), .string("a"), .string("ab"),
        .bytes([0, 255]), .array([1, .null]), .object(["k": 1]),
    ]

    /// Inserts 3,000 documents whose field `a` has few values.
    private mutating func fill() throws {
        for start in stride(from: 0, to: 3_000, by: 500) {
            var documents: [Value] = []
            for id in start..<start + 500 {
                var document: Object = [
                    "_id": .integer(Int64(id)), "b": .integer(Int64(random.below(300))),
                    "c": .integer(Int64(id)),
                ]
                document["a"] = Self.firstValues[random.below(Self.firstValues.count)]
                documents.append(.object(document))
            }
            try store.execute(
                "INSERT INTO u DOCUMENTS (:all)", QueryArguments(["all": .array(documents)]))
        }
    }

    @Test mutating func `an index finds documents by its second field`() throws {
        try fill()
        try store.execute("CREATE INDEX by_a_b ON u (a, b)")
        for _ in 0..<40 {
            let low = random.below(300)
            let condition =
                random.below(2) == 0
                ? "b = \(low)" : "b BETWEEN \(low) AND \(low + random.below(4))"
            // The index does not decide these; keys can decide the first of them.
            let rest = ["", " AND c < 1500", " AND c + 0 < 1500"][random.below(3)]
            let text = "SELECT _id FROM u WHERE \(condition)\(rest) ORDER BY _id"
            let plan = try store.value(DQL(verbatim: "EXPLAIN \(text)"))
            #expect(plan?.json.contains("by_a_b") == true, "\(plan?.json ?? "")")
            #expect(
                try store.rows(DQL(verbatim: text)) == store.rows(DQL(verbatim: scanning(text))),
                "\(text)")
        }
    }

    @Test mutating func `a first field with many values is not skipped`() throws {
        try fill()
        try store.execute("CREATE INDEX by_c_b ON u (c, b)")
        let text = "SELECT _id FROM u WHERE b = 7 ORDER BY _id"
        let plan = try store.value(DQL(verbatim: "EXPLAIN \(text)"))
        #expect(plan?.json.contains("by_c_b") == false)
        #expect(try store.rows(DQL(verbatim: text)) == store.rows(DQL(verbatim: scanning(text))))
    }

    @Test mutating func `the table of a hash join has all documents that satisfy its condition`()
        throws
    {
        try fill()
        try store.execute("CREATE INDEX by_a_b ON u (a, b)")
        for id in 0..<20 {
            try store.execute("INSERT INTO v DOCUMENTS ({_id: \(id), k: \(id * 7)})")
        }
        let text =
            "SELECT v._id, u.c FROM v LEFT JOIN u ON u.c = v.k AND u.b < 150 ORDER BY v._id, u.c"
        let rows = try store.rows(DQL(verbatim: text))
        #expect(rows == (try store.rows(DQL(verbatim: scanning(text)))))
        #expect(rows.contains { $0.json.contains("\"c\"") })
    }

    @Test mutating func `an interrupted count of groups throws an error`() throws {
        try fill()
        try store.execute("CREATE INDEX by_b_c ON u (b, c)")
        let text: DQL = "SELECT b, COUNT(*) AS n FROM u GROUP BY b"
        #expect(try store.rows(text).count == 300)
        let (statement, arguments) = try store.queries.prepare(text, [:])
        let queries = store.queries
        let run = queries.makeRun(
            statement, arguments, queries.parameters, on: queries.reader(), isTimed: false,
            meter: EvaluationMeter(1))
        #expect(throws: StoreError.self) { try run.rows() }
    }

    @Test mutating func `counting groups by an index gives the same result as a scan`() throws {
        try fill()
        for field in ["a", "b", "a, b"] {
            try store.execute(DQL(verbatim: "CREATE INDEX by_fields ON u (\(field))"))
            // Equal numbers of different types, such as 1 and 1.0, form one group.
            for value in ["1.0", "1", "0", "-0.0"] {
                try store.execute(
                    DQL(verbatim: "INSERT INTO u DOCUMENTS ({'a': \(value), 'b': 1.0})"))
                try compareGroups(by: field)
                try store.execute("DELETE FROM u WHERE _id < 10")
            }
            try store.execute("DROP INDEX by_fields ON u")
        }
    }

    @Test func `a counted group has the integer of equal numbers`() throws {
        try store.execute("INSERT INTO w DOCUMENTS ({_id: 1, a: 1.0}), ({_id: 2, a: 1})")
        try store.execute("CREATE INDEX by_a ON w (a)")
        let rows = try store.rows("SELECT a, COUNT(*) AS n FROM w GROUP BY a")
        #expect(rows.map(\.json) == ["{\"a\":1,\"n\":2}"])
    }

    private func compareGroups(by fields: String) throws {
        let text = "SELECT \(fields), COUNT(*) AS n FROM u GROUP BY \(fields)"
        let counted = try store.rows(DQL(verbatim: text)).map(\.json).sorted()
        let visited = try store.rows(DQL(verbatim: scanning(text))).map(\.json).sorted()
        #expect(counted == visited, "\(text)")
    }

    /// Returns a SELECT that uses no index.
    private func scanning(_ text: String) -> String {
        "SELECT /*+ {\"#disable_index_scan\": true} */ " + text.dropFirst("SELECT ".count)
    }
}
