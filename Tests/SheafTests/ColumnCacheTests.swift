import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Fields that full scans read from columns in memory.
///
/// The results must equal those of an engine without columns over the same documents.
@Suite struct ColumnCacheTests {
    private let store: StoreEngine
    private let cached: QueryEngine
    private let plain: QueryEngine

    /// Statements whose conditions, groups or orders can be read from columns.
    private static let queries = [
        "SELECT _id FROM t WHERE a = 3",
        "SELECT _id FROM t WHERE 3 < a AND s = 'x1'",
        "SELECT * FROM t WHERE a > 2.5 AND a <= 7",
        "SELECT _id FROM t WHERE s > 'x2'",
        "SELECT _id FROM t WHERE s = 'a longer text 2'",
        "SELECT _id FROM t WHERE s = ''",
        "SELECT _id FROM t WHERE s <> 'x2' AND NOT (a = 1)",
        "SELECT _id FROM t WHERE NOT (s = 'x1' OR f)",
        "SELECT _id FROM t WHERE a IS MISSING OR s IS NULL",
        "SELECT _id FROM t WHERE f",
        "SELECT _id FROM t WHERE f = false OR a BETWEEN 2 AND 3",
        "SELECT _id FROM t WHERE starts_with(s, 'x1') AND o.p > 0.5",
        "SELECT COUNT(*) AS n FROM t WHERE a = 3",
        "SELECT COUNT(*) AS n FROM t WHERE NOT (s = 'x1' OR f)",
        "SELECT COUNT(*) AS n FROM t WHERE s <> 'x2' AND NOT (a = 1)",
        "SELECT s, COUNT(*) AS n FROM t WHERE f IS MISSING OR a >= 2 GROUP BY s",
        "SELECT COUNT(a) AS n, SUM(a) AS total, MIN(a) AS low, MAX(s) AS high FROM t",
        "SELECT s, SUM(a) AS total FROM t GROUP BY s",
        "SELECT s, a, COUNT(*) AS n, AVG(o.p) AS mean FROM t WHERE a > 1 GROUP BY s, a",
        "SELECT f, COUNT(*) AS n FROM t GROUP BY f HAVING COUNT(*) > 3",
        "SELECT _id, a FROM t ORDER BY a LIMIT 7",
        "SELECT _id, a FROM t WHERE s = 'x1' ORDER BY a DESC, _id LIMIT 7 OFFSET 2",
        "SELECT _id FROM t ORDER BY s DESC, a LIMIT 5",
        "SELECT DISTINCT s FROM t WHERE a < 3",
        "SELECT t._id, u.a FROM t JOIN t u ON u._id = t.r WHERE t.a = 3",
        "SELECT t._id, u.a FROM t LEFT JOIN t u ON u.a = t.r AND u.s = t.s WHERE t.a = 3 AND t.f",
        "SELECT _id FROM t WHERE a = 3 LIMIT 4",
    ]

    init() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        store = try StoreEngine(opening: SimulatedVolume(seed: 7), options: options)
        let documents = try DocumentEngine(store)
        cached = QueryEngine(documents)
        plain = QueryEngine(documents)
        plain.columns.setLimits(bytes: 0, scans: 0)
    }

    @discardableResult
    private func execute(
        _ text: String, in queries: QueryEngine? = nil
    ) throws(StoreError) -> ResultStorage {
        let (store, queries) = (store, queries ?? cached)
        let flush = { @Sendable () throws(StorageError) in while try store.flush() {} }
        let (statement, values) = try queries.prepare(DQL(verbatim: text), [:])
        let outcome = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) }, flush: flush))
        do throws(StorageError) { try flush() } catch { throw StoreError(.failed, "\(error)") }
        return outcome
    }

    private func unsortedRows(_ text: String, in queries: QueryEngine) throws -> [String] {
        let outcome = try execute(text, in: queries)
        return try outcome.items.map { Value.object(try $0.object(outcome.names)).json }
    }

    private func rows(_ text: String, in queries: QueryEngine) throws -> [String] {
        let rows = try unsortedRows(text, in: queries)
        // Without ORDER BY, the order of the rows is undefined.
        return text.contains("LIMIT") ? rows : rows.sorted()
    }

    /// Whether a statement has the same rows with and without columns.
    private func hasSameRows(_ text: String) throws -> Bool {
        let (left, right) = (
            try unsortedRows(text, in: cached), try unsortedRows(text, in: plain)
        )
        // Most have the same order, too; sorting would take longer than the statement.
        return left == right || !text.contains("LIMIT") && left.sorted() == right.sorted()
    }

    private func insert(_ changes: [DocumentChange]) throws {
        let store = store
        for start in stride(from: 0, to: changes.count, by: 500) {
            let part = Array(changes[start..<min(start + 500, changes.count)])
            _ = try cached.documents.commit(part) { batch throws(StorageError) in
                try store.append(batch)
            }
            while try store.flush() {}
        }
    }

    private func fill(_ collection: String, _ count: Int) throws {
        try insert(
            (0..<count).map { id in
                DocumentChange(
                    collection, .integer(Int64(id)),
                    .insert(["a": .integer(Int64(id % 10)), "s": .string("x\(id % 4)")]))
            })
    }

    private func plan(_ text: String) throws -> String {
        try cached.planText(try cached.prepare(DQL(verbatim: text), [:]).0)
    }

    private func change(_ id: Int64, _ random: inout SeededRandom) -> DocumentChange {
        var fields: Object = [
            "a": .integer(Int64(random.below(10))), "s": .string("x\(random.below(4))"),
            "r": .integer(Int64(random.below(3_000))), "f": .bool(random.chance(1, in: 3)),
            "o": .object(["p": .float(Double(random.below(100)) / 64)]),
        ]
        if random.chance(1, in: 6) { fields["a"] = .float(Double(random.below(20)) / 2) }
        if random.chance(1, in: 9) { fields["s"] = .null }
        if random.chance(1, in: 400) { fields["a"] = random.chance(1, in: 2) ? true : "late" }
        if random.chance(1, in: 9) { fields["f"] = nil }
        if random.chance(1, in: 5) {
            fields["s"] = .string(["", "a longer text 1", "a longer text 2"][random.below(3)])
        }
        // Such a value must be decoded with its document.
        if random.chance(1, in: 600) { fields["a"] = .array([3]) }
        if random.chance(1, in: 9) { fields["s"] = .string(String(repeating: "é", count: 30)) }
        // Updates of large documents write delta records.
        if id % 40 == 0 { fields["filler"] = .string(String(repeating: "x", count: 1_200)) }
        return DocumentChange("t", .integer(id), .insert(fields))
    }

    @Test func `statements have the same rows with and without columns`() throws {
        var random = SeededRandom(seed: 23, "columns")
        cached.columns.setLimits(bytes: ColumnCache.defaultBytes, scans: 0)
        try insert((0..<3_000).map { change($0, &random) })
        for step in 0..<12 {
            for text in Self.queries {
                let isSame = try hasSameRows(text)
                #expect(isSame, "\(text), \(step)")
                if !isSame { #expect(try rows(text, in: cached) == rows(text, in: plain)) }
            }
            for _ in 0..<random.below(40) {
                let id = random.below(3_300)
                switch random.below(5) {
                case 0: try execute("DELETE FROM t WHERE _id = \(id)")
                case 1: try execute("UPDATE t SET a = \(random.below(10)) WHERE _id = \(id)")
                case 2: try execute("UPDATE t SET s = 'x\(random.below(5))' WHERE _id = \(id)")
                case 3: try execute("EVICT FROM t WHERE _id = \(id)")
                default:
                    let change = change(Int64(3_000 + random.below(300)), &random)
                    _ = try? insert([change])
                }
            }
            if step == 6 {
                store.compactEverything()
                while try store.compactionStep() {}
            }
            if step == 8 { cached.releaseMemory() }
        }
    }

    @Test func `a scan of an older snapshot ignores the columns of newer ones`() throws {
        cached.columns.setLimits(bytes: ColumnCache.defaultBytes, scans: 0)
        try fill("t", 2_000)
        let text = "SELECT COUNT(*) AS n FROM t WHERE a = 3"
        let snapshot = cached.snapshot()
        #expect(try rows(text, in: cached) == ["{\"n\":200}"])
        try execute("DELETE FROM t WHERE _id = 3")
        #expect(try rows(text, in: cached) == ["{\"n\":199}"])
        func count(_ text: String, on snapshot: DocumentSnapshot) throws -> Int {
            let (statement, values) = try cached.prepare(DQL(verbatim: text), [:])
            return try cached.execute(statement, values, on: snapshot, CommitCell()).items.count
        }
        let listing = "SELECT _id FROM t WHERE a = 3 AND s = 'x3'"
        #expect(try count(listing, on: snapshot) == 100)
        #expect(try rows(text, in: cached) == ["{\"n\":199}"])
        #expect(try count(listing, on: cached.snapshot()) == 99)
        #expect(try count(listing, on: snapshot) == 100)
    }

    @Test func `a scan reads columns after each of its fields was in three full scans`() throws {
        try fill("t", 1_000)
        let text = "SELECT COUNT(*) AS n FROM t WHERE a = 3"
        for _ in 0..<3 {
            #expect(try !plan(text).contains("in memory"))
            try execute(text)
            #expect(cached.columns.byteCount == 0)
        }
        try execute(text)
        #expect(try plan(text).contains("a in memory"))
        #expect(try !plan("SELECT _id FROM t WHERE a = 3 AND s = 'x1'").contains("in memory"))
        for _ in 0..<4 { try execute("SELECT s, SUM(a) AS total FROM t GROUP BY s") }
        #expect(try plan("SELECT _id FROM t WHERE a = 3 AND s = 'x1'").contains("a, s in memory"))
        #expect(try plan("SELECT _id FROM t ORDER BY a LIMIT 3").contains("a in memory"))
        // A scan that may end early reads documents.
        #expect(try !plan("SELECT _id FROM t WHERE a = 3 LIMIT 1").contains("in memory"))
    }

    @Test func `a collection of fewer than 1,000 documents has no columns`() throws {
        try fill("t", 999)
        for _ in 0..<10 { try execute("SELECT COUNT(*) AS n FROM t WHERE a = 3") }
        #expect(cached.columns.byteCount == 0)
        try insert([DocumentChange("t", .integer(999), .insert(["a": 3]))])
        for _ in 0..<4 { try execute("SELECT COUNT(*) AS n FROM t WHERE a = 3") }
        #expect(cached.columns.byteCount > 0)
    }

    @Test func `the least recently scanned collection loses its columns first`() throws {
        try fill("t", 2_000)
        try fill("u", 2_000)
        try execute("ALTER SYSTEM SET column_cache_scans = 0")
        try execute("SELECT COUNT(*) AS n FROM t WHERE a = 3")
        let bytes = cached.columns.byteCount
        #expect(bytes >= 2_000 * 16)
        try execute("ALTER SYSTEM SET column_cache_bytes = \(bytes * 3 / 2)")
        try execute("SELECT COUNT(*) AS n FROM u WHERE a = 3")
        #expect(try !plan("SELECT _id FROM t WHERE a = 3").contains("in memory"))
        #expect(try plan("SELECT _id FROM u WHERE a = 3").contains("in memory"))
        #expect(cached.columns.byteCount <= bytes * 3 / 2)
        // Two fields of one collection are too large together, which is no error.
        try execute("ALTER SYSTEM SET column_cache_bytes = \(bytes * 5 / 4)")
        #expect(
            try rows("SELECT COUNT(*) AS n FROM u WHERE a = 3 AND s = 'x3'", in: cached)
                == ["{\"n\":100}"])
        #expect(cached.columns.byteCount <= bytes * 5 / 4)
        try execute("SELECT COUNT(*) AS n FROM u WHERE a = 3")
        try execute("ALTER SYSTEM SET column_cache_bytes = 0")
        #expect(cached.columns.byteCount == 0)
    }

    private func count(_ collection: String) -> String {
        "SELECT COUNT(*) AS n FROM \(collection) WHERE a = 3"
    }

    /// Returns those of three collections that have columns.
    private func collectionsInMemory() throws -> [String] {
        try ["t", "u", "v"].filter { try plan(count($0)).contains("in memory") }
    }

    @Test func `of several collections, the one that was scanned last keeps its columns`() throws {
        for collection in ["t", "u", "v"] { try fill(collection, 1_000) }
        try execute("ALTER SYSTEM SET column_cache_scans = 0")
        try execute(count("t"))
        let bytes = cached.columns.byteCount
        try #require(bytes > 0)
        // Two collections fit, and three do not.
        try execute("ALTER SYSTEM SET column_cache_bytes = \(bytes * 5 / 2)")
        for (collection, expected) in [
            ("u", ["t", "u"]), ("t", ["t", "u"]), ("v", ["t", "v"]), ("u", ["u", "v"]),
            ("v", ["u", "v"]), ("t", ["t", "v"]),
        ] {
            try execute(count(collection))
            let found = try collectionsInMemory()
            #expect(found == expected, "after \(collection)")
        }
    }

    @Test func `a collection that lost its columns gets them after as many scans as a new one`()
        throws
    {
        for collection in ["t", "u", "v"] { try fill(collection, 1_000) }
        for _ in 0..<4 { try execute(count("t")) }
        let bytes = cached.columns.byteCount
        try #require(bytes > 0)
        try execute("ALTER SYSTEM SET column_cache_bytes = \(bytes * 3 / 2)")
        for _ in 0..<4 { try execute(count("u")) }
        for scans in 1...4 {
            #expect(try collectionsInMemory() == ["u"], "before scan \(scans)")
            try execute(count("t"))
        }
        #expect(try collectionsInMemory() == ["t"])
    }

    @Test func `columns of exactly the maximum memory are kept, and larger ones are not`() throws {
        try fill("t", 2_000)
        try execute("ALTER SYSTEM SET column_cache_scans = 0")
        let text = "SELECT COUNT(*) AS n FROM t WHERE a = 3"
        try execute(text)
        let bytes = cached.columns.byteCount
        try #require(bytes > 0)
        for limit in [bytes - 1, bytes, bytes + 1] {
            cached.releaseMemory()
            try execute("ALTER SYSTEM SET column_cache_bytes = \(limit)")
            try execute(text)
            #expect(cached.columns.byteCount == (limit < bytes ? 0 : bytes), "\(limit)")
        }
        // A limit that is lowered takes effect at once.
        try execute("ALTER SYSTEM SET column_cache_bytes = \(bytes)")
        #expect(cached.columns.byteCount == bytes)
        try execute("ALTER SYSTEM SET column_cache_bytes = \(bytes - 1)")
        #expect(cached.columns.byteCount == 0)
    }

    @Test func `fields with long texts have no columns`() throws {
        for length in [1_024, 1_025] {
            try insert(
                (0..<1_000).map { id in
                    DocumentChange(
                        "t\(length)", .integer(Int64(id)),
                        .insert(["s": .string(String(repeating: "\(id % 10)", count: length))]))
                })
            let text = "SELECT COUNT(*) AS n FROM t\(length) WHERE starts_with(s, '7')"
            for _ in 0..<5 { #expect(try rows(text, in: cached) == ["{\"n\":100}"]) }
            #expect((cached.columns.byteCount > 0) == (length == 1_024), "\(length)")
            cached.releaseMemory()
        }
    }

    @Test func `columns that were too large are built after the limit is raised`() throws {
        try fill("t", 2_000)
        let text = "SELECT COUNT(*) AS n FROM t WHERE a = 3"
        try execute("ALTER SYSTEM SET column_cache_bytes = 20000")
        for _ in 0..<8 { try execute(text) }
        #expect(cached.columns.byteCount == 0)
        try execute("ALTER SYSTEM SET column_cache_bytes = 200000")
        for _ in 0..<4 { #expect(try rows(text, in: cached) == ["{\"n\":200}"]) }
        #expect(cached.columns.byteCount > 0)
    }

    @Test func `released columns are rebuilt after three further scans`() throws {
        try fill("t", 1_000)
        let text = "SELECT COUNT(*) AS n FROM t WHERE a = 3"
        for _ in 0..<4 { try execute(text) }
        cached.releaseMemory()
        #expect(cached.columns.byteCount == 0)
        for _ in 0..<3 { try execute(text) }
        #expect(cached.columns.byteCount == 0)
        try execute(text)
        #expect(cached.columns.byteCount > 0)
    }

    @Test func `columns are dropped if more than a quarter of the documents are on changed leaves`()
        throws
    {
        try fill("t", 4_000)
        let text = "SELECT COUNT(*) AS n FROM t WHERE a = 3"
        for _ in 0..<4 { try execute(text) }
        // A few changes keep the columns.
        try execute("UPDATE t SET a = 3 WHERE _id < 500")
        #expect(try rows(text, in: cached) == ["{\"n\":850}"])
        #expect(try plan(text).contains("in memory"))
        try execute("UPDATE t SET a = 3 WHERE _id < 3000")
        #expect(try rows(text, in: cached) == ["{\"n\":3100}"])
        #expect(cached.columns.byteCount == 0)
    }
}
