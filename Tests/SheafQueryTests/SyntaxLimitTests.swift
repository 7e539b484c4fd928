import SheafDocument
import SheafQuery
import Testing

/// Statements at and one beyond each limit.
@Suite struct SyntaxLimitTests {
    /// Whether an expression parses; if not, checks that the error is a limit that names `words`.
    private func isRead(_ text: String, says words: String) -> Bool {
        do throws(StoreError) {
            _ = try Parser.parseExpression(text)
            return true
        } catch {
            #expect(error.reason == .limit, "\(error)")
            #expect(error.message.contains(words), "\(error)")
            return false
        }
    }

    private func nested(_ start: String, _ middle: String, _ end: String, _ count: Int) -> String {
        String(repeating: start, count: count) + middle + String(repeating: end, count: count)
    }

    @Test func `expressions nest up to 128 deep`() {
        let words = "nested deeper than the limit of 128"
        for (start, middle, end) in [
            ("(", "a", ")"), ("NOT ", "a", ""), ("- ", "a", ""), ("[", "", "]"), ("[", "a", "]"),
            ("{a:", "1", "}"), ("f(", "1", ")"),
            ("CASE WHEN ", "a", " THEN b END"), ("CASE ", "a", " WHEN a THEN b END"),
            ("CAST(", "a", " AS string)"), ("trim(a FROM ", "a", ")"),
            ("ANY v IN ", "a", " SATISFIES b END"), ("ARRAY ", "a", " FOR v IN b END"),
            ("OBJECT a: ", "a", " FOR v IN b END"), ("1 + (", "a", ")"), ("a AND (", "b", ")"),
            ("(", "a", " = b)"), ("(", "a", " IS NULL)"), ("(", "a", " LIKE b)"),
        ] {
            #expect(isRead(nested(start, middle, end, 128), says: words), "\(start)")
            #expect(!isRead(nested(start, middle, end, 129), says: words), "\(start)")
        }
    }

    @Test func `nested operators count toward the depth`() {
        // Each round nests two nodes: an operator and a list, or two operators.
        #expect(isRead(nested("a IN (", "b", ")", 64), says: ""))
        #expect(!isRead(nested("a IN (", "b", ")", 65), says: "the limit of 128"))
        #expect(isRead(nested("(", "a", " * 2 = b)", 64), says: ""))
        #expect(!isRead(nested("(", "a", " * 2 = b)", 65), says: "the limit of 128"))
        for (start, end) in [
            ("[", " * 2]"), ("{a: ", " * 2}"), ("f(", " * 2)"), ("CAST(", " * 2 AS string)"),
            ("CASE ", " * 2 WHEN a THEN b END"), ("CASE WHEN ", " * 2 THEN b END"),
        ] {
            #expect(isRead(nested(start, "a", end, 64), says: ""), "\(start)")
            #expect(!isRead(nested(start, "a", end, 65), says: "the limit of 128"), "\(start)")
        }
    }

    @Test func `chains and lists have at most 4,096 terms`() {
        for (separator, start, end, what) in [
            (" AND ", "", "", "terms"), (" OR ", "", "", "terms"), (" + ", "", "", "terms"),
            ("||", "", "", "terms"), ("*", "", "", "terms"), (",", "[", "]", "elements"),
            (",", "a IN (", ")", "elements"), (",", "f(", ")", "arguments"),
        ] {
            let terms = Array(repeating: "1", count: 4_097)
            let words = "there are more \(what) than the limit of 4096"
            let whole = start + terms.dropLast().joined(separator: separator) + end
            let more = start + terms.joined(separator: separator) + end
            #expect(isRead(whole, says: words), "\(separator)")
            #expect(!isRead(more, says: words), "\(separator)")
        }
    }

    @Test func `the lists in a statement have at most 4,096 elements`() {
        let table: [(String, String, String)] = [
            ("SELECT ", "a", " FROM b"), ("SELECT * FROM a USE IDS ", "1", ""),
            ("SELECT * FROM a GROUP BY ", "b", ""), ("SELECT * FROM a ORDER BY ", "b", ""),
            ("SELECT * FROM a (", "b MAP", ")"), ("INSERT INTO a VALUES ", "({})", ""),
            ("SELECT {", "a: 1", "} FROM b"), ("UPDATE a APPLY ", "b RESTART", ""),
            ("UPDATE a SET ", "b = 1", ""), ("UPDATE a UNSET ", "b", ""),
            ("UPDATE a SET c -> (", "b = 1", ")"), ("CREATE INDEX a ON b (", "c", ")"),
            ("DELETE FROM a RETURNING ", "b", ""),
            ("SELECT ANY ", "v IN a", " SATISFIES v END FROM b"),
        ]
        for (start, element, end) in table {
            let elements = Array(repeating: element, count: 4_097)
            let whole = start + elements.dropLast().joined(separator: ",") + end
            #expect(throws: Never.self, "\(start)") { try Parser.parse(whole) }
            let error = #expect(throws: StoreError.self, "\(start)") {
                try Parser.parse(start + elements.joined(separator: ",") + end)
            }
            #expect(error?.reason == .limit, "\(start)")
            #expect(error?.message.contains("than the limit of 4096") == true, "\(start)")
        }
        let branches = { "CASE" + String(repeating: " WHEN a THEN b", count: $0) + " END" }
        #expect(isRead(branches(4_096), says: ""))
        #expect(!isRead(branches(4_097), says: "there are more branches than the limit of 4096"))
    }

    @Test func `paths have at most 64 names, statements 16 joins, and maps nest 128 deep`() {
        let names = { Array(repeating: "a", count: $0).joined(separator: ".") }
        let words = "there are more names in the path than the limit of 64"
        #expect(isRead(names(64), says: words))
        #expect(!isRead(names(65), says: words))
        let tables: [((Int) -> String, Int)] = [
            ({ "UPDATE a SET \(names($0)) = 1" }, 64),
            ({ "UPDATE a SET \(names(60)) -> (\(names($0 - 60)) = 1)" }, 64),
            ({ "SELECT * FROM a" + String(repeating: " JOIN b ON c", count: $0) }, 16),
        ]
        for (text, limit) in tables {
            #expect(throws: Never.self) { try Parser.parse(text(limit)) }
            let error = #expect(throws: StoreError.self) { try Parser.parse(text(limit + 1)) }
            #expect(error?.reason == .limit)
            #expect(error?.message.contains("than the limit of \(limit)") == true)
        }
        let maps = { "SELECT * FROM a " + self.nested("(b MAP", "(c MAP)", ")", $0) }
        #expect(throws: Never.self) { try Parser.parse(maps(127)) }
        #expect(throws: StoreError.self) { try Parser.parse(maps(128)) }
    }

    @Test func `statements have at most 1 MiB`() throws {
        let statement = "SELECT * FROM a"
        let padding = String(repeating: " ", count: (1 << 20) - statement.utf8.count)
        #expect(throws: Never.self) { try Parser.parse(statement + padding) }
        let error = #expect(throws: StoreError.self) {
            try Parser.parse(statement + padding + " ")
        }
        #expect(error?.reason == .limit)
        #expect(
            error?.message
                == "the statement has 1048577 bytes; the limit is 1048576")
    }

    @Test func `a statement that repeats a text 100,000 times parses or is refused`() {
        // A parser that rescans for each token would take minutes for each of these.
        let count = 100_000
        for text in [
            String(repeating: "(", count: count), String(repeating: "a.", count: count),
            String(repeating: "NOT ", count: count), String(repeating: "-", count: count),
            String(repeating: "- ", count: count), "'" + String(repeating: "\\'", count: count),
            String(repeating: "`a` ", count: count), String(repeating: "/**/", count: count),
            String(repeating: "1", count: count), "1." + String(repeating: "1", count: count),
            String(repeating: "a NOT ", count: count), String(repeating: "x", count: count),
            "/*+" + String(repeating: "[", count: count) + "*/",
        ] {
            _ = try? Parser.parse("SELECT " + text + " FROM a")
            _ = try? Parser.parse(text)
        }
        let parameters = (0..<4_000).map { ":p\($0)" }.joined(separator: ",")
        let lists = Array(repeating: "[\(parameters)]", count: 30).joined(separator: ",")
        #expect(throws: Never.self) { try Parser.parse("SELECT \(lists) FROM a") }
    }
}
