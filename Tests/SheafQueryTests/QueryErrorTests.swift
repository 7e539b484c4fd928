import SheafDocument
import SheafQuery
import Testing

/// Descriptions of errors in statements.
@Suite struct QueryErrorTests {
    @Test func `an error shows the line and marks the faulty part`() {
        let statement = "SELECT *\nFORM cars"
        let error = StoreError(
            .syntax, "expected FROM, found FORM", hint: "did you mean FROM?",
            at: SourceRange(9, 13), in: statement)
        #expect(
            error.description == """
                expected FROM, found FORM (line 2, column 1)
                  FORM cars
                  ^^^^
                did you mean FROM?
                reference: SELECT
                """)
    }

    @Test(arguments: [99, 100, 101])
    func `an excerpt has at most 100 characters`(count: Int) {
        let line = String(repeating: "x", count: count)
        for lower in [0, 50] {
            let excerpt = StoreError.Excerpt(SourceRange(lower, lower + 1), of: line)
            #expect(excerpt.text.count == min(count, 100) && excerpt.markStart == lower)
        }
    }

    @Test func `an excerpt of a long line is cut around the mark`() throws {
        let statement =
            String(repeating: "x", count: 500) + "é!" + String(repeating: "y", count: 500)
        let excerpt = StoreError.Excerpt(SourceRange(502, 503), of: statement)
        #expect(excerpt.column == 502)
        let marked = Array(excerpt.text)[excerpt.markStart]
        #expect(marked == "!" && excerpt.text.count == 100)
    }

    @Test(arguments: ["x", "é", "e\u{301}\u{302}\u{308}\u{30B}"])
    func `messages and hints have at most 200 scalars, and excerpts at most 100 characters`(
        _ letters: String
    ) throws {
        let long = String(repeating: letters, count: 4_000)
        let error = StoreError(
            .meaning, "no source is named \(long) here", hint: "write \(long) instead",
            at: SourceRange(7, 7 + long.utf8.count), in: "SELECT \(long) FROM t")
        // A character that the cut would split is omitted.
        #expect((191...200).contains(error.message.unicodeScalars.count))
        #expect(error.message.hasPrefix("no source is named \(letters)"))
        #expect(error.message.unicodeScalars.contains("…") && error.message.hasSuffix(" here"))
        let hint = try #require(error.hint)
        #expect((191...200).contains(hint.unicodeScalars.count))
        #expect(hint.hasPrefix("write \(letters)") && hint.hasSuffix(" instead"))
        let excerpt = try #require(error.excerpt)
        #expect(excerpt.text.count <= 100 && excerpt.text.unicodeScalars.count <= 200)
        #expect(excerpt.text.hasPrefix("SELECT \(letters)") && excerpt.markLength <= 100)
    }

    @Test func `a range beyond the end of the text marks the end`() {
        let excerpt = StoreError.Excerpt(SourceRange(90, 95), of: "SELECT")
        #expect(excerpt.column == 7 && excerpt.markLength == 1)
    }

    @Test func `an excerpt is the line on which the marked part begins`() {
        func excerpt(_ lower: Int, _ upper: Int, _ text: String) -> StoreError.Excerpt {
            StoreError.Excerpt(SourceRange(lower, upper), of: text)
        }
        func expected(
            _ line: Int, _ column: Int, _ text: String, _ start: Int, _ length: Int
        ) -> StoreError.Excerpt {
            StoreError.Excerpt(
                line: line, column: column, text: text, markStart: start, markLength: length)
        }
        let text = "a\nbb\nccc\nd"
        #expect(excerpt(0, 1, text) == expected(1, 1, "a", 0, 1))
        #expect(excerpt(3, 4, text) == expected(2, 2, "bb", 1, 1))
        #expect(excerpt(6, 7, text) == expected(3, 2, "ccc", 1, 1))
        // The mark ends with its line.
        #expect(excerpt(6, 10, text) == expected(3, 2, "ccc", 1, 2))
        #expect(excerpt(6, 6, text) == expected(3, 2, "ccc", 1, 1))
        #expect(excerpt(6, 2, text) == expected(3, 2, "ccc", 1, 1))
        #expect(excerpt(8, 9, text) == expected(3, 4, "ccc", 3, 1))
        #expect(excerpt(9, 10, text) == expected(4, 1, "d", 0, 1))
        // Letters are counted, not bytes, and a control character is shown as a space.
        #expect(excerpt(2, 3, "éxé") == expected(1, 2, "éxé", 1, 1))
        #expect(excerpt(0, 2, "éxé") == expected(1, 1, "éxé", 0, 1))
        #expect(excerpt(2, 3, "a\tb\u{1F}c") == expected(1, 3, "a b c", 2, 1))
    }

    @Test(arguments: [
        (10, 60, 10), (60, 1, 60), (49, 1, 60), (50, 1, 60), (10, 50, 60), (0, 49, 60),
    ])
    func `an excerpt keeps half of its length before the mark, and half of it marked`(
        before: Int, marked: Int, after: Int
    ) {
        let line =
            String(repeating: "x", count: before) + String(repeating: "m", count: marked)
            + String(repeating: "y", count: after)
        let excerpt = StoreError.Excerpt(SourceRange(before, before + marked), of: line)
        let (kept, shown) = (min(before, 50), min(marked, 50))
        // After a mark that is cut, nothing follows.
        let rest = marked > 50 ? 0 : min(after, 100 - kept - shown)
        #expect(
            excerpt.text == String(repeating: "x", count: kept)
                + String(repeating: "m", count: shown) + String(repeating: "y", count: rest))
        #expect(excerpt.column == before + 1 && excerpt.markStart == kept)
        #expect(excerpt.markLength == shown)
    }

    @Test func `an error is located at the first occurrence of a text`() {
        let error = StoreError(.meaning, "a test", hint: "a hint")
        func column(_ piece: String, _ statement: String) -> Int? {
            error.located(at: piece, in: statement).excerpt?.column
        }
        #expect(column("b", "a b b") == 3)
        #expect(column("ab", "xab") == 2)
        #expect(column("xab", "xab") == 1)
        #expect(column("c", "a b") == nil)
        #expect(column("", "a b") == nil)
        #expect(column("a bc", "a b") == nil)
        let located = error.located(at: "b b", in: "a b b")
        #expect(located.excerpt?.markLength == 3)
        #expect(located.message == "a test" && located.hint == "a hint")
        #expect(located.reason == .meaning)
        // An error keeps its location.
        #expect(located.located(at: "a", in: "a b b").excerpt?.column == 3)
        #expect(located.located(atParameter: "a", in: ":a").excerpt?.column == 3)
    }

    @Test(
        arguments: [
            ("SELECT :a, :b FROM t", 12), ("SELECT ':b', :b FROM t", 14),
            ("SELECT :bb, : b, :b FROM t", 18), ("SELECT `:b`, b, :b, :b FROM t", 17),
            ("SELECT :B /* :b */ FROM t", nil), ("SELECT b FROM t", nil),
        ] as [(String, Int?)])
    func `an error about a parameter is located at its first use`(statement: String, column: Int?) {
        let error = StoreError(.argument, "a test").located(atParameter: "b", in: statement)
        #expect(error.excerpt?.column == column)
        #expect(error.excerpt?.markLength == column.map { _ in 2 })
        #expect(error.page == column.map { _ in "arguments" })
    }
}
