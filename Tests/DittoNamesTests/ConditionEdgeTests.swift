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
