import DittoNames
import Sheaf
import Testing

/// Tests of the numbers, texts, arguments and nesting of conditions in the older query syntax.
struct ConditionEdgeTests {
    private func translated(_ text: String, _ arguments: [String: Value] = [:]) throws -> String {
        var parser = try ConditionParser(text, collection: "c", arguments: arguments)
        return try parser.condition()
    }

    /// Returns the lines of the error for a condition.
    private func lines(
        _ text: String, _ arguments: [String: Value] = [:]
    ) -> [String] {
        do {
            let found = try translated(text, arguments)
            return ["accepted: \(found)"]
        } catch {
            return "\(error)".split(separator: "\n").map(String.init)
        }
    }

    @Test func `a number has a fraction and an exponent only if digits follow`() throws {
        let numbers = [
            ("7", "7"), ("-7", "-7"), ("1.25", "1.25"), ("1e3", "1e3"), ("1E3", "1e3"),
            ("1e+3", "1e+3"), ("1.5E-20", "1.5e-20"), ("007", "007"),
        ]
        for (text, expected) in numbers {
            #expect(try translated("a == \(text)") == "(`c`.`a` = \(expected))")
            #expect(try translated("\(text)==a") == "(\(expected) = `c`.`a`)")
        }
        let rest = "expected &&, || or the end, found"
        for (text, found) in [
            ("a == 7e", "\(rest) e (line 1, column 7)"),
            ("a == 7e+", "\(rest) e (line 1, column 7)"),
            ("a == 7E-x", "\(rest) E (line 1, column 7)"),
            ("a == 7.", "\(rest) . (line 1, column 7)"),
            ("a == 7.x", "\(rest) . (line 1, column 7)"),
            ("a == 1.5.2", "\(rest) . (line 1, column 9)"),
            ("a == 1e3e4", "\(rest) e4 (line 1, column 9)"),
        ] {
            #expect(lines(text).first == found, "\(text)")
        }
    }

    @Test func `escape sequences stand for their characters`() throws {
        #expect(try translated(#"a == "\r\t\q\\""#) == "(`c`.`a` = '\r\tq\\\\')")
        #expect(try translated(#"a == '\u0041\u00e9x'"#) == "(`c`.`a` = 'Aéx')")
        let digits = "\\u must be followed by four hexadecimal digits (line 1, column 7)"
        for text in [#"a == '\u004"#, #"a == '\u004g'"#, #"a == '\ud800'"#] {
            #expect(lines(text).first == digits, "\(text)")
        }
        #expect(
            lines(#"a == 'x\"#).first == "unterminated escape sequence (line 1, column 8)")
    }

    @Test func `errors have the hint for the word or the sign that was meant`() {
        let rest = "expected &&, || or the end, found"
        let cases: [(text: String, message: String, hint: String)] = [
            ("a | b", "unexpected | (line 1, column 3)", "write || between two conditions"),
            ("a & b", "unexpected & (line 1, column 3)", "write && between two conditions"),
            ("a or b", "\(rest) or (line 1, column 3)", "write ||"),
            ("a OR b", "\(rest) OR (line 1, column 3)", "write ||"),
            ("a AND b", "\(rest) AND (line 1, column 3)", "write &&"),
            ("a not b", "\(rest) not (line 1, column 3)", "write !"),
            ("a NOT b", "\(rest) NOT (line 1, column 3)", "write !"),
            ("a == $args.x", "no argument x (line 1, column 6)", "pass it in args"),
        ]
        for (text, message, hint) in cases {
            let found = lines(text)
            #expect(found.first == message && found.last == hint && found.count == 4, "\(text)")
        }
        // Other errors have no hint.
        #expect(lines("a ; b").count == 3)
        #expect(lines("a b").count == 3)
        #expect(
            lines("$args.") == [
                "expected a name, found the end (line 1, column 7)", "  $args.", "        ^",
            ])
    }

    @Test func `brackets are a field, an index or a list by what they contain`() throws {
        let cases = [
            (#"["x"] == ["x", 'y']"#, "(`c`.`x` = ['x', 'y'])"),
            (#"["x"].y[0]["z"].w == 1"#, "(value_at(`c`.`x`.`y`, 0, 'z', 'w') = 1)"),
            ("[] == a", "([] = `c`.`a`)"), ("[nil, -1] == a", "([NULL, -1] = `c`.`a`)"),
            ("contains(a['b'], d)", "array_contains(`c`.`a`.`b`, `c`.`d`)"),
            ("nil == nil", "(NULL IS NULL OR NULL IS MISSING)"),
        ]
        for (text, expected) in cases { #expect(try translated(text) == expected, "\(text)") }
        let index = "expected an array index, or a key in quotes, found"
        for (text, found) in [
            ("a[1.5]", "\(index) 1.5 (line 1, column 3)"),
            ("a[-1]", "\(index) - (line 1, column 3)"),
            ("a[9223372036854775808]", "\(index) 9223372036854775808 (line 1, column 3)"),
            ("a[0", "expected ], found the end (line 1, column 4)"),
            ("[1", "expected , or ], found the end (line 1, column 3)"),
            ("contains([1, 2)", "expected , or ], found ) (line 1, column 15)"),
            (
                "contains(['x'].y, 1)",
                "expected a comma and the second argument of contains, found . (line 1, column 15)"
            ),
        ] {
            #expect(lines(text).first == found, "\(text)")
        }
        #expect(try translated("a[9223372036854775807]").contains("9223372036854775807"))
    }

    @Test func `an unknown name is reported with the known ones`() {
        let arguments: [String: Value] = ["n": 1, "o": ["x": 1]]
        #expect(
            lines("  near(a, 1)").suffix(1) == [
                "known functions: contains, ends_with, keys, length, regex, starts_with, values"
            ])
        #expect(lines("a == $args.z", arguments).suffix(1) == ["known arguments: n, o"])
        let field = "the argument o has no field"
        #expect(lines("a == $args.o.y", arguments)[0] == "\(field) y (line 1, column 6)")
        #expect(lines("a == $args.o.x.z", arguments)[0] == "\(field) z (line 1, column 6)")
        #expect(
            lines("$argsx.n", arguments) == [
                "expected $args, found $argsx (line 1, column 1)", "  $argsx.n", "  ^",
                "write $args.name",
            ])
        #expect(
            lines("a == 1 &&\n  b ;\n c") == [
                "unexpected ; (line 2, column 5)", "    b ;", "      ^",
            ])
    }

    @Test func `arguments have numbers in their order, and one for each path`() throws {
        let arguments: [String: Value] = ["n": 5, "o": ["n": 6, "list": [1]]]
        var parser = try ConditionParser(
            "a == $args.o.n && b == $args.n && contains($args.o.list, a) && d == $args.o.n",
            collection: "c", arguments: arguments)
        let text = try parser.condition()
        #expect(
            text
                == "((`c`.`a` = :arg1) AND (`c`.`b` = :arg2) AND (`c`.`a` IN :arg3) "
                + "AND (`c`.`d` = :arg1))")
        #expect(parser.parameters == ["arg1": 6, "arg2": 5, "arg3": [1]])
    }

    @Test(arguments: ["(|)", "!|", "[|]", "keys(|)", "starts_with(|, 1)"])
    func `32 levels can be nested, and any number can follow each other`(_ level: String) throws {
        let parts = level.split(separator: "|", omittingEmptySubsequences: false)
        func nested(_ depth: Int) -> String {
            let (start, end) = (String(parts[0]), String(parts[1]))
            return "f == " + String(repeating: start, count: depth) + "a"
                + String(repeating: end, count: depth)
        }
        #expect(throws: Never.self) { try translated(nested(32)) }
        let found = try #require(lines(nested(33)).first)
        #expect(found.hasPrefix("the condition is nested deeper than 32 (line 1, column "))
        let single = nested(1)
        let many = Array(repeating: single, count: 40).joined(separator: " && ")
        let one = try translated(single)
        #expect(
            try translated(many)
                == "(" + Array(repeating: one, count: 40).joined(separator: " AND ") + ")")
    }
}
