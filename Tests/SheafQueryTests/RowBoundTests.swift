import SheafDocument
import SheafQuery
import Testing

/// The bounds that a statement passes to a system collection.
@Suite struct RowBoundTests {
    /// Returns the bounds of the only source of a statement.
    private func bounds(_ text: String, _ arguments: [String: Value] = [:]) throws -> RowBounds {
        let store = CountedStore()
        var options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        options.arguments = ArgumentValues(arguments)
        let count = try QueryRun(try Parser.parse(text), on: store, options).rows().count
        #expect(count == 0 && store.bounds.count == 1, "\(text)")
        return try #require(store.bounds.first)
    }

    @Test(
        arguments: [
            ("commit = 5", 5...5), ("commit < 5", 0...4), ("commit <= 5", 0...5),
            ("commit > 5", 6...UInt64.max), ("commit >= 5", 5...UInt64.max),
            ("5 < commit", 6...UInt64.max), ("5 >= commit", 0...5), ("5 > commit", 0...4),
            ("commit < 0", 0...0), ("commit < 1", 0...0), ("commit > 0", 1...UInt64.max),
            ("commit > -1", 0...UInt64.max), ("commit >= -1", 0...UInt64.max),
            ("commit = -1", 0...0),
            ("commit BETWEEN 3 AND 8", 3...8), ("commit > 5 AND commit < 9", 6...8),
            ("commit > 5 AND commit > 7 AND commit > 6", 8...UInt64.max),
            ("commit < 9 AND commit <= 7 AND commit < 9", 0...7),
            ("commit = 5 AND commit > 2", 5...5),
            ("commit > 2 + 3", 6...UInt64.max), ("commit > 3 AND documents = 1", 4...UInt64.max),
            // Contradicting bounds leave the commit of the lower one.
            ("commit > 9 AND commit < 5", 10...10), ("commit = 5 AND commit = 7", 7...7),
            ("commit >= 7 AND commit < 7", 7...7), ("commit >= 7 AND commit <= 7", 7...7),
        ] as [(String, ClosedRange<UInt64>)])
    func `a comparison with commits bounds the commits that are read`(
        condition: String, commits: ClosedRange<UInt64>
    ) throws {
        for name in ["history", "log"] {
            let found = try bounds("SELECT * FROM system:\(name) WHERE \(condition)")
            #expect(found.commits == commits, "\(name)")
            #expect(found.collection == nil && found.document == nil)
        }
    }

    @Test(arguments: [
        "commit NOT BETWEEN 3 AND 8", "commit != 5", "commit = '5'", "commit > 5.5",
        "commit > 5 OR commit < 3", "NOT commit > 5", "commit IN (5)", "other = 5",
        "commit.number = 5", "commit + 0 = 5", "commit = documents",
    ])
    func `another condition bounds nothing`(condition: String) throws {
        let found = try bounds("SELECT * FROM system:log WHERE \(condition)")
        #expect(found.commits == 0...UInt64.max)
        #expect(found.collection == nil && found.document == nil && !found.isDescending)
    }

    @Test func `a collection and a document are bounds if no other value equals them`() throws {
        func found(_ condition: String) throws -> RowBounds {
            try bounds("SELECT * FROM system:history WHERE \(condition)")
        }
        #expect(try found("collection = 'cars'").collection == "cars")
        #expect(try found("'cars' = collection").collection == "cars")
        #expect(try found("collection > 'cars'").collection == nil)
        #expect(try found("collection = 5").collection == nil)
        #expect(try found("document = 'x'").document == "x")
        #expect(try found("document = 1").document == 1)
        for other in ["document = 1.0", "document = [1]", "document > 1", "document = NULL"] {
            #expect(try found(other).document == nil, "\(other)")
        }
        let all = try found("document = 'x' AND commit < 9 AND collection = 'cars'")
        #expect(all.document == "x" && all.collection == "cars" && all.commits == 0...8)
        let text = "SELECT * FROM system:history WHERE commit > :low AND document = :id"
        let passed = try bounds(text, ["low": 4, "id": "y"])
        #expect(passed.commits == 5...UInt64.max && passed.document == "y")
    }

    @Test(arguments: [
        ("history ORDER BY commit DESC", true), ("log ORDER BY commit DESC", true),
        ("log ORDER BY commit", false), ("log", false), ("log ORDER BY _id DESC", false),
        ("log ORDER BY commit DESC, _id", false), ("indexes ORDER BY commit DESC", false),
        ("log ORDER BY commit.number DESC", false), ("log ORDER BY commit + 0 DESC", false),
    ])
    func `only rows that must have descending commits are read backward`(
        source: String, isDescending: Bool
    ) throws {
        #expect(try bounds("SELECT * FROM system:\(source)").isDescending == isDescending)
    }

    @Test func `joined rows are read without bounds`() throws {
        let store = CountedStore()
        let text = """
            SELECT l.commit AS c FROM system:log l JOIN system:history h ON h.commit = l.commit
            WHERE l.commit > 4
            """
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        _ = try QueryRun(try Parser.parse(text), on: store, options).rows()
        let first = try #require(store.bounds.first)
        #expect(first.commits == 0...UInt64.max)
    }
}
