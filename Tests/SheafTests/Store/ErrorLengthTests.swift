import Sheaf
import SheafTestSupport
import Testing

/// What errors quote of huge inputs.
struct ErrorLengthTests {
    /// Message, hint, the line of the statement and the mark below it.
    private static let longest = 1_000

    /// Statements that fail, or may, with a text in many roles: names, values, ids, patterns, dates.
    private static func statements(_ text: String) -> [String] {
        [
            "\(text)", "SELECT \(text)( FROM t", "SELECT * FROM t WHERE `\(text)` = ",
            "SELECT * FROM `\(text)` AS a JOIN `\(text)` AS a ON 1", "SELECT * FROM `\(text)`.x.y",
            "SELECT \(text)(1) FROM t", "SELECT '\(text) FROM t", "SELECT a.`\(text)` FROM t AS b",
            "SELECT * FROM t USE INDEX ('\(text)') WHERE a = 1", "CREATE INDEX `\(text)` ON t (a)",
            "DROP INDEX `\(text)` ON t", "ALTER SYSTEM SET `\(text)` = 1", "SHOW `\(text)`",
            "INSERT INTO t DOCUMENTS ({'_id': '\(text)'})",
            "INSERT INTO t DOCUMENTS ({'_id': {'a': '\(text)'}})",
            "INSERT INTO `\(text)` DOCUMENTS ({'_id': 1})", "INSERT INTO t DOCUMENTS ('\(text)')",
            "UPDATE t SET `\(text)` = 1 WHERE _id = \(text)", "UPDATE t SET _id = '\(text)'",
            "SELECT cast('\(text)' AS `\(text)`) FROM t", "SELECT :`\(text)` FROM t",
            "SELECT * FROM system:`\(text)`", "SELECT a FROM t GROUP BY `\(text)`",
            "SELECT * FROM t WHERE a SIMILAR TO '\(text)('", "SELECT date_add('\(text)', 1, 'x')",
            "SELECT * FROM t ORDER BY `\(text)`(", "EVICT FROM t WHERE `\(text)` +",
            "SELECT * FROM t LIMIT '\(text)'", "SELECT :\(text) FROM t",
        ]
    }

    @Test func `no error quotes more than a few hundred characters`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("error lengths, seed \(seed)")
        var random = SeededRandom(seed: seed, "errors")
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        var count = 0
        for letters in ["x", "é", "e\u{301}\u{302}", "👩‍👩‍👧", "0", "\u{301}"] {
            let text = String(repeating: letters, count: 900 + random.below(40_000))
            for statement in Self.statements(text) {
                // The second run of an INSERT meets the document of the first.
                for _ in 0..<2 {
                    do {
                        _ = try await store.execute(Query(verbatim: statement), ["\(text)": 1])
                        _ = try store.observe(Query(verbatim: statement)) { _ in }.cancel()
                    } catch let error as StoreError {
                        count += 1
                        let scalars = "\(error)".unicodeScalars.count
                        #expect(
                            scalars <= Self.longest,
                            "seed \(seed): \(statement.prefix(40)) says \(scalars) characters")
                    }
                }
            }
        }
        #expect(count > 100)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `hints of transactions are quoted in part`() async throws {
        let store = try await Store.inMemory()
        let hint = String(repeating: "hint ", count: 20_000)
        let ended = try await store.transaction(hint: hint) { $0 }
        do {
            try await ended.execute("SELECT * FROM t")
            Issue.record("an ended transaction ran a statement")
        } catch let error as StoreError {
            #expect("\(error)".count <= Self.longest)
        }
        try await store.close()
    }
}
