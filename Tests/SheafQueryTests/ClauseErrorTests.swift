import SheafQuery
import Testing

/// Errors for misplaced clauses and unsupported statements.
@Suite struct ClauseErrorTests {
    @Test func `a second statement is refused`() {
        let hint = "a call runs one statement"
        ErrorPosition.check([
            ("SELECT * FROM a; «SELECT» * FROM b", "unexpected second statement", hint),
            (
                "SELECT * FROM a;«;»", "expected the end of the statement, found ;", nil
            ),
            ("«»", "the statement is empty", nil),
            ("-- nothing«»", "the statement is empty", nil),
            ("«;»", "expected a statement, found ;", nil),
        ])
    }

    @Test func `CREATE COLLECTION and DROP COLLECTION are refused with a hint`() {
        ErrorPosition.check([
            (
                "CREATE «COLLECTION» cars", "there is no CREATE COLLECTION",
                "inserting a document creates its collection"
            ),
            (
                "DROP «COLLECTION» cars", "there is no DROP COLLECTION",
                "DELETE removes documents on all peers, EVICT only on this one"
            ),
        ])
    }

    @Test func `an unsupported clause or expression is refused at its position`() {
        let order =
            "the order is FROM, USE, JOIN, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, "
            + "RETURNING; not every statement has every clause"
        let end = "expected the end of the statement, found "
        ErrorPosition.check([
            (
                "SELECT * FROM a «UNION» SELECT * FROM b", end + "UNION",
                "set operations are not supported"
            ),
            ("SELECT * FROM a «FULL» JOIN b ON c", end + "FULL", "joins are INNER, LEFT or RIGHT"),
            ("SELECT * FROM a «CROSS» JOIN b", end + "CROSS", "joins are INNER, LEFT or RIGHT"),
            ("SELECT * FROM a«,» b", end + ",", "use JOIN to read two collections"),
            ("SELECT * FROM a LIMIT 1«,» 2", end + ",", "write LIMIT count OFFSET start"),
            ("SELECT * FROM a WHERE b = 1«,» c = 2", end + ",", "join conditions with AND or OR"),
            ("UPDATE a SET b = 1 WHERE c«,» d", end + ",", "join conditions with AND or OR"),
            ("SELECT * FROM a LIMIT 1 «WHERE» b", end + "WHERE", order),
            ("SELECT * FROM a OFFSET 1 «LIMIT» 1", end + "LIMIT", order),
            (
                "SELECT («SELECT» 1) FROM a", "expected an expression, found SELECT",
                "subqueries are not supported"
            ),
            ("SELECT sum(a) over «(»b) FROM c", "expected a comma or FROM, found (", nil),
            (
                "SELECT 1«»", "expected a comma or FROM, found the end of the statement",
                "FROM system:dual has one row"
            ),
            ("SELECT * FROM a JOIN b «WHERE» c", "expected ON, found WHERE", nil),
            (
                "SELECT * FROM a JOIN b USE «IDS» 1 ON c", "USE IDS is not allowed in joins",
                "compare _id in the condition instead"
            ),
            ("SELECT * FROM a USE IDS 1 USE «IDS» 2", "duplicate USE IDS", nil),
            ("SELECT sum(«*») FROM a", "expected an expression, found *", "only COUNT takes a *"),
            (
                "SELECT cast(a AS «text») FROM b",
                "expected string, integer, float, boolean or binary, found text", nil
            ),
            (
                "SELECT position(a«,» b) FROM b", "expected IN, found ,",
                "write position(part IN text) or pos(text, part)"
            ),
        ])
    }

    @Test func `a misplaced or malformed clause of a writing statement is refused`() {
        let order = "the order is APPLY, SET, UNSET, WHERE, RETURNING"
        let end = "expected the end of the statement, found "
        ErrorPosition.check([
            ("UPDATE a UNSET b «SET» c = 1", end + "SET", order),
            ("UPDATE a SET b = 1 «APPLY» c RESTART", end + "APPLY", order),
            ("UPDATE a «WHERE» b", "expected APPLY, SET or UNSET, found WHERE", nil),
            ("UPDATE a «b» SET c = 1", "expected APPLY, SET or UNSET, found b", nil),
            (
                "UPDATE a «(»b MAP) SET b = 1", "expected APPLY, SET or UNSET, found (",
                "types are only allowed after UPDATE COLLECTION"
            ),
            ("UPDATE a SET b «!=» 1", "expected = or ->, found !=", nil),
            (
                "UPDATE a SET b -> «remove»()",
                "expected tombstone(), default(), increment(n) or (..), found remove", nil
            ),
            ("UPDATE a APPLY b INCREMENT «1»", "expected BY, found 1", nil),
            (
                "INSERT INTO a («:»b)",
                "expected the name of a field, found :",
                "a parameter is a value, not a name or a path"
            ),
            (
                "INSERT INTO a VALUES ({}«,» {})", "expected ), found ,",
                "put each document in its own parentheses"
            ),
            ("INSERT INTO a VALUES «:»b", "expected (, found :", nil),
            (
                "INSERT INTO a VALUES ({}) ON ID CONFLICT «NOTHING»",
                "expected DO or FAIL, found NOTHING", nil
            ),
            (
                "INSERT INTO a INITIAL VALUES ({}) «ON» ID CONFLICT FAIL", end + "ON",
                "INSERT .. INITIAL always skips existing documents"
            ),
            (
                "INSERT INTO a INITIAL «SELECT» * FROM b",
                "expected DOCUMENTS or VALUES, found SELECT", nil
            ),
            ("DELETE «a» WHERE b", "expected FROM, found a", nil),
            ("DELETE FROM a «b»", end + "b", nil),
        ])
    }

    @Test func `a directive is a JSON object at one of three positions`() {
        let allowed = "directives are allowed at the start, after SELECT and after a collection"
        let object = "a directive must be a JSON object"
        ErrorPosition.check([
            ("SELECT * «/*+ {} */» FROM a", "expected a comma or FROM, found a directive", allowed),
            (
                "SELECT * FROM a WHERE b «--+ {}»",
                "expected the end of the statement, found a directive", allowed
            ),
            ("«/*+ [1] */» SELECT * FROM a", object, nil),
            (
                "«/*+ {a} */» SELECT * FROM a", object,
                "in it, line 1, column 3: expected a name in double quotes"
            ),
            ("SELECT * FROM a USE DIRECTIVES «'1'»", object, nil),
            (
                "SELECT * FROM a USE DIRECTIVES «:»b",
                "expected directives as JSON, in quotes, found :",
                "a parameter is a value, not a name or a path"
            ),
        ])
    }

    @Test func `a field has one of five types`() {
        ErrorPosition.check([
            (
                "SELECT * FROM a (b «TEXT»)",
                "expected MAP, REGISTER, COUNTER, PN_COUNTER or ATTACHMENT, found TEXT", nil
            ),
            (
                "SELECT * FROM a (b«.»c MAP)",
                "expected MAP, REGISTER, COUNTER, PN_COUNTER or ATTACHMENT, found .",
                "declare nested fields in a MAP(..)"
            ),
            ("SELECT * FROM a («)»", "expected the name of a field, found )", nil),
        ])
    }
}
