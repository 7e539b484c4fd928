import SheafDocument
import SheafQuery
import Testing

/// Syntax trees of expressions.
@Suite struct ExpressionParsingTests {
    /// Checks pairs of lines: an expression, and the shape of its tree.
    private func check(_ table: String, line: Int = #line) throws {
        let lines = table.split(separator: "\n").map(String.init)
        for index in stride(from: 0, to: lines.count, by: 2) {
            let shape = try ExpressionShape.of(lines[index])
            #expect(shape == lines[index + 1], "\(lines[index])")
        }
    }

    @Test func `operators have the specified precedence`() throws {
        try check(
            """
            a + b * c - d
            (a + (b * c) - d)
            a * b + c / d % e
            ((a * b) + (c / d % e))
            a || b + c || d
            (a || (b + c) || d)
            a || b = c || d
            (= (a || b) (c || d))
            a = b + 1 AND NOT c OR d AND e
            (or (and (= a (b + 1)) (not c)) (and d e))
            NOT a = b
            (not (= a b))
            NOT a IS NULL
            (not (is-NULL a))
            NOT NOT a AND b
            (and (not (not a)) b)
            a LIKE b = c
            (LIKE a (= b c))
            a = b LIKE c
            (LIKE (= a b) c)
            a = b IS TRUE
            (is-TRUE (= a b))
            a LIKE b IS NOT FALSE
            (is-not-FALSE (LIKE a b))
            - a * b
            ((negate a) * b)
            -a.b + -c
            ((negate a.b) + (negate c))
            (a + b) * c
            ((a + b) * c)
            a BETWEEN b + 1 AND c AND d
            (and (between a (b + 1) c) d)
            a IN (b, c) AND d
            (and (in a (array b c)) d)
            """)
    }

    @Test func `chains of one operator are flat`() throws {
        try check(
            """
            a AND b AND c AND d
            (and a b c d)
            a OR (b OR c) OR d
            (or a (or b c) d)
            1 - 2 + 3 - 4
            (1 - 2 + 3 - 4)
            """)
    }

    @Test func `every spelling of a comparison parses`() throws {
        try check(
            """
            a == b
            (= a b)
            a <> b
            (!= a b)
            a != b
            (!= a b)
            a<=b
            (<= a b)
            a>=b
            (>= a b)
            a<b
            (< a b)
            a>b
            (> a b)
            a NOT BETWEEN 1 AND 2
            (not-between a 1 2)
            a NOT IN b
            (not-in a b)
            a IN :list
            (in a :list)
            a IN (:list)
            (in a (array :list))
            a IN [1, 2]
            (in a (array 1 2))
            a IN object_keys(b)
            (in a (object_keys b))
            a like 'x%' escape '!'
            (LIKE a "x%" "!")
            a NOT ILIKE b
            (not-ILIKE a b)
            a SIMILAR TO b
            (SIMILAR TO a b)
            a NOT similar to b
            (not-SIMILAR TO a b)
            """)
    }

    @Test func `IS tests for NULL, MISSING, TRUE, FALSE and their negations`() throws {
        try check(
            """
            a IS NULL
            (is-NULL a)
            a IS NOT NULL
            (is-not-NULL a)
            a IS UNKNOWN
            (is-NULL a)
            a IS NOT unknown
            (is-not-NULL a)
            a IS MISSING
            (is-MISSING a)
            a IS NOT MISSING
            (is-not-MISSING a)
            a IS TRUE
            (is-TRUE a)
            a is not false
            (is-not-FALSE a)
            """)
    }

    @Test func `literals parse into values`() throws {
        try check(
            """
            true = TRUE
            (= true true)
            [False, Null, Missing]
            (array false null missing)
            42
            42
            -1
            -1
            007
            7
            2.5
            2.5
            1e3
            1000.0
            1.5E-2
            0.015
            0xFF
            255
            -0x10
            -16
            9223372036854775807
            9223372036854775807
            -9223372036854775808
            -9223372036854775808
            -0x8000000000000000
            -9223372036854775808
            0x000000000000000000007fffffffffffffff
            9223372036854775807
            -(5)
            (negate 5)
            1e-400
            0.0
            []
            (array)
            {}
            (object)
            {'k': v, "l" : 1, _id: 'x', total: {from: 1}, `a b`: 2}
            (object k: v l: 1 _id: "x" total: (object from: 1) a b: 2)
            """)
        guard case .literal(.float(let zero)) = try Parser.parseExpression("-0.0").node else {
            Issue.record("-0.0 is not a float")
            return
        }
        #expect(zero.sign == .minus)
    }

    @Test func `strings have escapes and two kinds of quotes`() throws {
        let table: [(String, Value)] = [
            ("'a'", "a"), ("\"a\"", "a"), ("'\"'", "\""), ("\"'\"", "'"), ("''", ""),
            (#"'\n\t\\\'\"\r\b\f\/'"#, "\n\t\\'\"\r\u{8}\u{c}/"),
            (#"'\u00e9\ud83d\ude00'"#, "é😀"), (#"'\q\%\é'"#, "q%é"), ("'é😀'", "é😀"),
            ("'a\nb'", "a\nb"), ("'-- no comment'", "-- no comment"),
        ]
        for (text, value) in table {
            guard case .literal(let literal) = try Parser.parseExpression(text).node else {
                Issue.record("\(text) is not a literal")
                continue
            }
            #expect(literal == value, "\(text)")
        }
    }

    @Test func `names are bare or in backticks, and dots separate the names of a path`() throws {
        try check(
            """
            a.b.c
            a.b.c
            items.`item-1`.qty
            items.item-1.qty
            `a``b`
            a`b
            `` + ```x`
            ( + `x)
            _id.locationId
            _id.locationId
            a . b
            a.b
            order_1.from.select
            order_1.from.select
            `select`
            select
            Größe
            """.replacing("\nGröße", with: "\n`Größe`\nGröße"))
    }

    @Test(arguments: [
        "count", "total", "name", "status", "value", "date", "timestamp", "day", "month", "key",
        "index", "type", "end", "left", "right", "limit", "offset", "set", "use", "on", "by",
        "collection", "id",
        "values", "documents", "all", "system", "map", "counter", "both", "trim", "cast", "desc",
    ]) func `an unreserved keyword is a path`(word: String) throws {
        #expect(try ExpressionShape.of("\(word) = 1") == "(= \(word) 1)")
        #expect(try ExpressionShape.of("\(word).\(word)") == "\(word).\(word)")
        #expect(try ExpressionShape.of("{\(word): \(word)}") == "(object \(word): \(word))")
        let statement =
            "SELECT \(word), a AS \(word) FROM cars AS \(word) WHERE \(word) > 1 ORDER BY \(word)"
        guard case .select(let select) = try Parser.parse(statement).body else { return }
        #expect(select.columns.count == 2 && select.source.alias?.text == word)
    }

    @Test func `calls with keyword arguments become plain calls`() throws {
        try check(
            """
            Lower(a)
            (lower a)
            clock()
            (clock)
            COUNT(*)
            (count-star)
            count ( DISTINCT a.b )
            (count-distinct a.b)
            substr(a, 1, 2)
            (substr a 1 2)
            TRIM(a)
            (trim a)
            TRIM(a, 'x')
            (trim a "x")
            TRIM(BOTH 'x' FROM a)
            (trim a "x")
            TRIM(LEADING 'x' FROM a)
            (ltrim a "x")
            trim(trailing 'x' from a)
            (rtrim a "x")
            TRIM('x' FROM a)
            (trim a "x")
            TRIM(LEADING FROM a)
            (ltrim a)
            trim(both)
            (trim both)
            position('b' IN a || 'b')
            (pos (a || "b") "b")
            CAST(a AS String)
            (cast-string a)
            cast(a + 1 AS binary)
            (cast-binary (a + 1))
            """)
    }

    @Test func `quantifiers, comprehensions and CASE parse`() throws {
        try check(
            """
            ANY v IN a SATISFIES v > 1 END
            (ANY [v in a] (> v 1))
            EVERY v WITHIN a SATISFIES v > 1 END
            (EVERY [v within a] (> v 1))
            ANY AND EVERY v IN a, w IN b SATISFIES v = w END
            (ANY AND EVERY [v in a] [w in b] (= v w))
            ARRAY v.x FOR v IN a WHEN v.y END
            (for v.x) [v in a] when v.y
            ARRAY v FOR v WITHIN a END
            (for v) [v within a]
            OBJECT v.k : v FOR v IN a END
            (for v.k v) [v in a]
            OBJECT k:upper(k) FOR k IN :names WHEN k != 'x' END
            (for k (upper k)) [k in :names] when (!= k "x")
            CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END
            (case (a 1) (b 2) else 3)
            CASE a WHEN 1 THEN 'x' END
            (case a (1 "x"))
            """)
    }

    @Test func `comments are skipped`() throws {
        try check(
            """
            1 /* a ' /* b */ + 2 -- c
            (1 + 2)
            a - - b
            (a - (negate b))
            """)
        #expect(try ExpressionShape.of("-- first\na -- second\n+ b--") == "(a + b)")
    }

    @Test func `the range of an expression covers its text`() throws {
        let text = "a + (b * 2) = lower( c ) AND d IN (1, 2)"
        guard case .and(let terms) = try Parser.parseExpression(text).node else { return }
        let words = terms.map { Array(text.utf8)[$0.range.lower..<$0.range.upper] }
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(words == ["a + (b * 2) = lower( c )", "d IN (1, 2)"])
    }
}
