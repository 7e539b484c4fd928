import SheafDocument
import SheafQuery
import Testing

/// The entry of the reference that an error names for a position in a statement.
@Suite struct ReferenceLookupTests {
    /// Returns the entry that an error at the text between « and » names.
    private func page(of marked: String) -> String? {
        let text = marked.replacing("«", with: "").replacing("»", with: "")
        let start = marked.prefix { $0 != "«" }.count
        let length = marked.drop { $0 != "«" }.dropFirst().prefix { $0 != "»" }.count
        return StoreError(
            .meaning, "a test", at: SourceRange(start, start + length), in: text
        ).page
    }

    @Test(arguments: [
        ("WHERE ANY v IN a SATISFIES «1» END", "ANY"),
        ("WHERE EVERY v IN a SATISFIES «1» END", "EVERY"),
        ("WHERE ANY AND EVERY v IN a SATISFIES «1» END", "ANY"),
        ("WHERE ANY AND EVERY v IN a SATISFIES v END AND «1»", "WHERE"),
        ("WHERE a AND EVERY v IN b SATISFIES «1» END", "EVERY"),
        ("WHERE a AND EVERY v IN b SATISFIES v END AND «1»", "WHERE"),
        ("WHERE a AND ANY v IN b SATISFIES «1» END", "ANY"),
        ("WHERE t.any AND EVERY v IN b SATISFIES «1» END", "EVERY"),
        ("WHERE ANY v IN a SATISFIES v AND EVERY w IN b SATISFIES «1» END END", "EVERY"),
        ("WHERE ANY v IN a SATISFIES v AND EVERY w IN b SATISFIES w END AND «1» END", "ANY"),
        ("WHERE CASE WHEN a AND ANY v IN b SATISFIES v END THEN «1» END", "CASE"),
        ("WHERE CASE WHEN a THEN b END AND «1»", "WHERE"),
    ])
    func `an error within a quantifier names it, and one after its END does not`(
        clause: String, page: String
    ) {
        #expect(self.page(of: "SELECT * FROM t " + clause) == page, "\(clause)")
    }

    @Test(arguments: [
        ("SELECT upper(«1») FROM t", "upper"), ("SELECT upper(a) || «1» FROM t", "SELECT"),
        ("SELECT upper([a, «1»]) FROM t", "upper"),
        ("SELECT ARRAY v FOR v IN a WHEN «1» END FROM t", "ARRAY"),
        ("SELECT OBJECT v: w FOR v IN a WHEN «1» END FROM t", "OBJECT"),
        ("SELECT * FROM t WHERE a LIKE «1»", "LIKE"),
        ("SELECT * FROM t WHERE a LIKE 'b' AND «1»", "WHERE"),
        ("SELECT * FROM t WHERE «(a LIKE b)»AND c", "LIKE"),
        ("SELECT * FROM t WHERE «(a)»LIKE 'b'", "WHERE"),
        ("SELECT * FROM t WHERE «(a)» LIKE 'b'", "WHERE"),
        ("SELECT * FROM t WHERE «a LIKE b»", "LIKE"), ("SELECT * FROM t WHERE «a» LIKE b", "WHERE"),
        ("UPDATE t SET a = «1»", "SET"), ("UPDATE t SET a = 1 WHERE «1»", "WHERE"),
    ])
    func `an error names the innermost function, operator or clause`(
        statement: String, page: String
    ) {
        #expect(self.page(of: statement) == page, "\(statement)")
    }
}
