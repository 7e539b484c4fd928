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

    @Test(arguments: [
        ("«x»", "statements"), ("SELECT «x» FROM t", "SELECT"), ("EXPLAIN «x»", "EXPLAIN"),
        ("PROFILE «x»", "PROFILE"), ("ADVISE «x»", "ADVISE"), ("SHOW «x»", "SHOW"),
        ("EXPLAIN SELECT «x» FROM t", "SELECT"), ("EXPLAIN UPDATE t SET «1»", "SET"),
        ("ALTER SYSTEM SET «x»", "ALTER SYSTEM"), ("CREATE INDEX i ON «x»", "CREATE INDEX"),
        ("DROP INDEX «x»", "DROP INDEX"), ("DELETE FROM «x»", "DELETE"),
        ("EVICT FROM t WHERE «x»", "WHERE"), ("DELETE FROM t RETURNING «x»", "RETURNING"),
        ("INSERT INTO t «x»", "INSERT"), ("INSERT INTO t INITIAL «x»", "INITIAL"),
        ("INSERT INTO t DOCUMENTS («:a»)", "DOCUMENTS"),
        ("INSERT INTO t INITIAL VALUES ({«a»})", "DOCUMENTS"),
        ("INSERT INTO t DOCUMENTS (:a) ON ID CONFLICT «x»", "ON ID CONFLICT"),
        ("INSERT INTO t DOCUMENTS (:a) ON ID CONFLICT DO UPDATE «x»", "ON ID CONFLICT"),
        ("INSERT INTO t SELECT * FROM «x»", "FROM"), ("SELECT * FROM «x»", "FROM"),
        ("SELECT * FROM a JOIN b ON «x»", "JOIN"), ("SELECT * FROM a LEFT «x»", "JOIN"),
        ("SELECT * FROM a INNER «x»", "JOIN"), ("SELECT * FROM a RIGHT «x»", "JOIN"),
        ("SELECT * FROM a USE «x»", "USE IDS"), ("SELECT * FROM a USE IDS «x»", "USE IDS"),
        ("SELECT * FROM a USE INDEX «x»", "USE INDEX"),
        ("SELECT * FROM a USE DIRECTIVES «x»", "USE DIRECTIVES"),
        ("SELECT * FROM a GROUP BY «x»", "GROUP BY"), ("SELECT * FROM a HAVING «x»", "HAVING"),
        ("SELECT * FROM a ORDER BY «x»", "ORDER BY"), ("SELECT * FROM a LIMIT «x»", "LIMIT"),
        ("SELECT * FROM a OFFSET «x»", "OFFSET"), ("UPDATE t UNSET «b»", "UNSET"),
        ("UPDATE t APPLY «b»", "APPLY"), ("UPDATE t SET b -> «x»", "->"),
        ("UPDATE t SET b -> (c = 1, «d» = 2)", "->"),
        ("UPDATE t SET b -> (c = 1), «d» = 2", "SET"),
        ("SELECT * FROM a LIMIT 1 «WHERE» b", "SELECT"),
        ("SELECT * FROM a WHERE (b «FROM» c", "WHERE"),
    ])
    func `an error after the words of a statement or clause names it`(
        statement: String, page: String
    ) {
        #expect(self.page(of: statement) == page, "\(statement)")
    }

    @Test(arguments: [
        ("SELECT * FROM COLLECTION t (a «x»)", "COLLECTION"),
        ("SELECT * FROM COLLECTION t (a MAP(b «x»))", "COLLECTION"),
        ("INSERT INTO COLLECTION t (a «x»)", "COLLECTION"),
        ("SELECT * FROM a JOIN COLLECTION t (a «x»)", "COLLECTION"),
        ("SELECT * FROM COLLECTION t WHERE (a AND «1»)", "WHERE"),
        ("SELECT * FROM COLLECTION t WHERE upper(«1»)", "upper"),
        ("SELECT * FROM t WHERE collection = 'a' AND (b AND «1»)", "WHERE"),
        ("UPDATE COLLECTION t (a COUNTER) SET b = («1»)", "SET"),
        ("INSERT INTO COLLECTION t DOCUMENTS («1»)", "DOCUMENTS"),
    ])
    func `only brackets after the name of a collection have types`(
        statement: String, page: String
    ) {
        #expect(self.page(of: statement) == page, "\(statement)")
    }

    @Test(arguments: [
        ("SELECT profile, «1» FROM t", "SELECT"), ("SELECT documents, «1» FROM t", "SELECT"),
        ("SELECT apply, «1» FROM t", "SELECT"), ("SELECT unset, «1» FROM t", "SELECT"),
        ("SELECT * FROM t WHERE a.order = «1»", "WHERE"),
        ("SELECT * FROM t WHERE :select = «1»", "WHERE"),
        ("DELETE FROM t WHERE values = «1»", "WHERE"),
    ])
    func `a keyword that is the name of a field or a parameter begins no clause`(
        statement: String, page: String
    ) {
        #expect(self.page(of: statement) == page, "\(statement)")
    }

    @Test(arguments: [
        ("a BETWEEN «1»", "BETWEEN"), ("a BETWEEN b + «1» AND 2", "BETWEEN"),
        ("a BETWEEN 1 AND «2»", "WHERE"), ("a LIKE b || «c»", "WHERE"),
        ("a NOT LIKE «b»", "LIKE"), ("a LIKE NOT «b»", "LIKE"), ("a ILIKE «b»", "ILIKE"),
        ("a SIMILAR TO «b»", "SIMILAR TO"), ("a IS «b»", "IS NULL"), ("a IS NOT «b»", "IS NULL"),
        ("a IN «b»", "IN"), ("a IN («b»)", "WHERE"), ("a LIKE upper(«b»)", "upper"),
        ("a LIKE «FROM»", "LIKE"), ("count(«x»)", "count"), ("cast(«x» AS integer)", "cast"),
        ("position(«x» IN a)", "position"), ("upper([a], «x»)", "upper"),
        ("upper({a: 1}, «x»)", "upper"), ("«upper(a)»", "upper"), ("b.«upper»(a)", "WHERE"),
        ("«x» (a)", "WHERE"), ("upper(a)[«x»]", "WHERE"),
    ])
    func `an operator ends with its operand, and a function with its brackets`(
        condition: String, page: String
    ) {
        #expect(self.page(of: "SELECT * FROM t WHERE " + condition) == page, "\(condition)")
    }
}
