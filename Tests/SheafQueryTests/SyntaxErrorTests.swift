import SheafDocument
import SheafQuery
import Testing

/// Errors for malformed statements.
@Suite struct SyntaxErrorTests {
    @Test func `an error marks the faulty text below its line`() {
        let error = #expect(throws: StoreError.self) {
            try Parser.parse("SELECT *\nFROM cars\nWHERE a =")
        }
        #expect(
            error?.description == """
                expected an expression, found the end of the statement (line 3, column 10)
                  WHERE a =
                           ^
                reference: WHERE
                """)
    }

    @Test func `a misspelled keyword gets a suggestion`() {
        ErrorPosition.check([
            ("«SELCT» * FROM a", "expected a statement, found SELCT", "did you mean SELECT?"),
            ("«updte» a SET b = 1", "expected a statement, found updte", "did you mean UPDATE?"),
            ("SELECT * «FORM» a", "expected a comma or FROM, found FORM", "did you mean FROM?"),
            ("SELECT a «FORM» b", "expected FROM, found FORM", "did you mean FROM?"),
            ("SELECT * FROM a «WERE» b = 1", "expected WHERE, found WERE", "did you mean WHERE?"),
            (
                "SELECT * FROM a WHERE b = 1 «adn» c",
                "expected the end of the statement, found adn", "did you mean AND?"
            ),
            ("SELECT * FROM a «ODRER» BY b", "expected ORDER, found ODRER", "did you mean ORDER?"),
            ("SELECT * FROM a «LIMT» 3", "expected LIMIT, found LIMT", "did you mean LIMIT?"),
        ])
        for (text, hint) in [
            ("SELECT a IS NUL FROM a", "NULL"), ("INSERT INTO a DOCUMENT (:b)", "DOCUMENTS"),
            ("SELECT * FROM a (b MPA)", "MAP"), ("CREATE INDX a ON b (c)", "INDEX"),
            ("UPDATE a APPLY b INCREMNT BY 1", "INCREMENT"), ("SELECT * FROM a USE ISD 1", "IDS"),
            ("SELECT ANY v IN a SATISFYS v END FROM b", "SATISFIES"),
            ("SELECT CASE WHEN a THN b END FROM c", "THEN"),
        ] {
            let error = #expect(throws: StoreError.self) { try Parser.parse(text) }
            #expect(error?.hint == "did you mean \(hint)?", "\(text)")
        }
    }

    @Test func `a word unlike any keyword gets no suggestion`() {
        ErrorPosition.check([
            ("«xyzzy» a", "expected a statement, found xyzzy", nil),
            ("SELECT * FROM a o «x»", "expected the end of the statement, found x", nil),
        ])
    }

    @Test func `a reserved keyword used as a name gets a hint`() {
        let backticks = "for a collection of this name, write `collection` in backticks"
        ErrorPosition.check([
            (
                "SELECT * FROM collection«»",
                "expected the name of a collection after COLLECTION, "
                    + "found the end of the statement", backticks
            ),
            (
                "SELECT * FROM collection «WHERE» a",
                "expected the name of a collection after COLLECTION, found WHERE", backticks
            ),
            (
                "SELECT * FROM «order»", "expected the name of a collection, found order",
                "as a name, write it in backticks: `order`"
            ),
            (
                "SELECT a AS «from» FROM b", "expected an alias, found from",
                "as a name, write it in backticks: `from`"
            ),
            (
                "SELECT «FROM» a", "expected an expression, found FROM",
                "as a name, write it in backticks: `FROM`"
            ),
            (
                "SELECT * FROM «\"cars\"»",
                "expected the name of a collection, found the string \"cars\"",
                "quotes are for strings; put names in backticks"
            ),
        ])
    }

    @Test func `a parameter is refused as a name or a path`() {
        let hint = "a parameter is a value, not a name or a path"
        ErrorPosition.check([
            ("SELECT * FROM «:»a", "expected the name of a collection, found :", hint),
            ("UPDATE a SET «:»b = 1", "expected a path, found :", hint),
            ("UPDATE a UNSET «:»b", "expected a path, found :", hint),
            ("SELECT a AS «:»b FROM c", "expected an alias, found :", hint),
            ("SELECT a.«:»b FROM c", "expected a name, found :", hint),
            ("CREATE INDEX «:»a ON b (c)", "expected the name of the index, found :", hint),
            ("CREATE INDEX a ON b («:»c)", "expected a path, found :", hint),
            (
                "SELECT * FROM a USE INDEX «:»b",
                "expected the name of an index, found :",
                hint
            ),
            ("SELECT {«:»a: 1} FROM a", "expected the name of a field, found :", hint),
            (
                "SELECT * FROM a«:»b", "unexpected colon after the name of a collection",
                "a parameter is a value, not a name; the only namespace is system"
            ),
            (
                "SELECT : «a» FROM b", "expected the name of a parameter after the colon, found a",
                nil
            ),
        ])
    }

    @Test func `a path with brackets is refused`() {
        let hint = "paths use dots, as in a.b.c, not brackets"
        ErrorPosition.check([
            ("UPDATE a SET items«[»0] = 1", "expected = or ->, found [", hint),
            ("SELECT items«[»0] FROM a", "expected a comma or FROM, found [", hint),
            (
                "SELECT * FROM a WHERE b.c«[»'d'] = 1",
                "expected the end of the statement, found [", hint
            ),
            ("SELECT a.«0» FROM b", "expected a name, found 0", nil),
            (
                "SELECT lower(a.«*») FROM a", "expected a name, found *",
                ".* is only allowed as a column"
            ),
        ])
    }

    @Test func `unterminated strings, quoted names and comments, and doubled quotes are refused`() {
        ErrorPosition.check([
            ("SELECT 'it«''»s' FROM a", "quotes in strings are not doubled", "write \\'"),
            ("SELECT \"a«\"\"»\" FROM a", "quotes in strings are not doubled", "write \\\""),
            ("SELECT «'»a FROM b", "unterminated string", "the closing quote is missing"),
            ("SELECT «'»a\\' FROM b", "unterminated string", "the closing quote is missing"),
            ("SELECT «`»a FROM b", "unterminated name", "the closing backtick is missing"),
            ("SELECT «/*» a FROM b", "unterminated comment", "comments end with */"),
            ("SELECT '«\\u12»' FROM a", "\\u must be followed by four hexadecimal digits", nil),
            (
                "SELECT '«\\ud800»' FROM a",
                "unpaired surrogate",
                nil
            ),
            (
                "SELECT '«\\udc00»' FROM a",
                "unpaired surrogate",
                nil
            ),
            (
                "SELECT '«\\ud800\\u0041»' FROM a",
                "unpaired surrogate", nil
            ),
        ])
    }

    @Test func `malformed and too large numbers are refused`() {
        let shape = "numbers look like 42, 2.5, 1e3 or 0xFF"
        let integer = "the integer does not fit into 64 bits"
        let float = "the number is too large for a float"
        let decimal = "append .0 to write a float"
        let largest = "the largest is about 1.8e308"
        ErrorPosition.check([
            ("SELECT «0x1p3» FROM a", "invalid number", shape),
            ("SELECT «0x» FROM a", "invalid number", shape),
            ("SELECT «1abc» FROM a", "invalid number", shape),
            ("SELECT «1e» FROM a", "invalid number", shape),
            ("SELECT «1_000» FROM a", "invalid number", shape),
            (
                "SELECT «.»5 FROM a", "expected an expression, found .",
                "numbers begin with a digit, and paths with a name"
            ),
            ("SELECT «9223372036854775808» FROM a", integer, decimal),
            ("SELECT -«9223372036854775809» FROM a", integer, decimal),
            ("SELECT «99999999999999999999999» FROM a", integer, decimal),
            ("SELECT «0x8000000000000000» FROM a", integer, nil),
            ("SELECT «0x10000000000000000» FROM a", integer, nil),
            ("SELECT «1e400» FROM a", float, largest),
            ("SELECT -«1e400» FROM a", float, largest),
        ])
    }

    @Test func `a state that is no commit and no time is refused`() {
        let hint =
            "for the state after a commit, write AS OF COMMIT and its number; "
            + "milliseconds since 1970 are written in parentheses"
        for (first, rest) in [
            ("42", ""), ("0x2A", ""), ("1e3", ""), ("-", "1"), ("NULL", ""), ("TRUE", ""),
            ("[", "1]"),
        ] {
            ErrorPosition.check([
                (
                    "SELECT * FROM a AS OF «\(first)»\(rest)",
                    "expected COMMIT, or a time in quotes, found \(first)", hint
                )
            ])
        }
    }

    @Test func `an unknown operator or character is refused`() {
        ErrorPosition.check([
            ("SELECT * FROM a WHERE «!»b", "there is no operator !", "did you mean NOT?"),
            ("SELECT * FROM a WHERE b «&&» c", "there is no operator &&", "did you mean AND?"),
            ("SELECT «#» FROM a", "unexpected character #", nil),
            ("SELECT a«\0» FROM a", "unexpected character U+0000", nil),
            (
                "SELECT «é» FROM a", "the character é is only allowed in quotes",
                "put names with characters other than a to z in backticks"
            ),
            (
                "SELECT«\u{A0}»a FROM b", "the character U+00A0 is only allowed in quotes",
                "put names with characters other than a to z in backticks"
            ),
        ])
    }

    @Test func `comparisons do not chain`() {
        let hint = "put one of the two in parentheses"
        ErrorPosition.check([
            ("SELECT a = b «=» c FROM d", "= cannot follow another comparison", hint),
            ("SELECT a IN (b) «<» c FROM d", "< cannot follow another comparison", hint),
            ("SELECT a LIKE b «LIKE» c FROM d", "LIKE cannot follow another comparison", hint),
            ("SELECT a IS NULL «IS» TRUE FROM d", "IS cannot follow another comparison", hint),
            ("SELECT a IN (b) «||» c FROM d", "expected a comma or FROM, found ||", nil),
            (
                "SELECT a = «NOT» b FROM d", "expected an expression, found NOT",
                "put NOT .. in parentheses"
            ),
            (
                "SELECT a NOT «b» FROM d",
                "expected IN, BETWEEN, LIKE, ILIKE or SIMILAR TO after NOT, found b", nil
            ),
        ])
    }
}
