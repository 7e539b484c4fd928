import SheafQuery
import Testing

/// How errors in statements look.
@Suite struct QueryErrorTests {
    @Test func `an error shows the line, and marks what is wrong in it`() {
        let statement = "SELECT *\nFORM cars"
        let error = QueryError(
            .syntax, "expected FROM, found FORM", hint: "did you mean FROM?",
            at: SourceRange(9, 13), in: statement)
        #expect(
            error.description == """
                expected FROM, found FORM at line 2, column 1
                  FORM cars
                  ^^^^
                did you mean FROM?
                """)
    }

    @Test func `long lines are cut, and marks stay below what they mark`() throws {
        let statement =
            String(repeating: "x", count: 500) + "é!" + String(repeating: "y", count: 500)
        let excerpt = QueryError.Excerpt(SourceRange(502, 503), of: statement)
        #expect(excerpt.column == 502)
        let marked = Array(excerpt.text)[excerpt.markStart]
        #expect(marked == "!" && excerpt.text.count == 100)
    }

    @Test func `places beyond the end are those at the end`() {
        let excerpt = QueryError.Excerpt(SourceRange(90, 95), of: "SELECT")
        #expect(excerpt.column == 7 && excerpt.markLength == 1)
    }
}
