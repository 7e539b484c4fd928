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
}
