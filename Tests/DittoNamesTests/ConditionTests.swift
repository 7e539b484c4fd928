import DittoNames
import Sheaf
import SheafTestSupport
import Testing

/// Conditions in the older query syntax.
struct ConditionTests {
    private func translated(_ text: String, _ arguments: [String: Value] = [:]) throws -> String {
        var parser = try ConditionParser(text, collection: "cars", arguments: arguments)
        return try parser.condition()
    }

    @Test func `each construct is translated to DQL`() throws {
        let arguments: [String: Value] = [
            "n": 5, "list": ["a"], "none": .null, "deep": ["er": ["x": 1]], "ünicode": true,
        ]
        let cases = [
            ("color == 'red'", "(`cars`.`color` = 'red')"),
            ("color==\"red\"", "(`cars`.`color` = 'red')"),
            ("a != 1.5", "(`cars`.`a` != 1.5)"), ("a < -2", "(`cars`.`a` < -2)"),
            ("a <= 1e3", "(`cars`.`a` <= 1e3)"), ("a > 0", "(`cars`.`a` > 0)"),
            ("a >= true", "(`cars`.`a` >= true)"), ("1 < a", "(1 < `cars`.`a`)"),
            ("a == b", "(`cars`.`a` = `cars`.`b`)"),
            ("a == '\u{301}b'", "(`cars`.`a` = '\u{301}b')"), ("true", "true"),
            ("isDeleted", "`cars`.`isDeleted`"),
            ("!isDeleted", "(NOT `cars`.`isDeleted`)"), ("!!a", "(NOT (NOT `cars`.`a`))"),
            ("!(a == 1)", "(NOT (`cars`.`a` = 1))"),
            ("!a == true", "((NOT `cars`.`a`) = true)"),
            ("a && b && c", "(`cars`.`a` AND `cars`.`b` AND `cars`.`c`)"),
            ("a || b && c", "(`cars`.`a` OR (`cars`.`b` AND `cars`.`c`))"),
            ("(a || b) && c", "((`cars`.`a` OR `cars`.`b`) AND `cars`.`c`)"),
            ("a == null", "(`cars`.`a` IS NULL OR `cars`.`a` IS MISSING)"),
            ("null != a", "(`cars`.`a` IS NOT NULL AND `cars`.`a` IS NOT MISSING)"),
            ("a == $args.none", "(`cars`.`a` IS NULL OR `cars`.`a` IS MISSING)"),
            ("a == $args.n || b == $args.n", "((`cars`.`a` = :arg1) OR (`cars`.`b` = :arg1))"),
            ("a == $args.deep.er.x", "(`cars`.`a` = :arg1)"), ("$args.ünicode", ":arg1"),
            ("a.b.c == 1", "(`cars`.`a`.`b`.`c` = 1)"),
            ("a[\"any key\"].b == 1", "(`cars`.`a`.`any key`.`b` = 1)"),
            ("['it`s'] == 1", "(`cars`.`it``s` = 1)"), ("cars == 1", "(`cars`.`cars` = 1)"),
            ("a[0] == 1", "(value_at(`cars`.`a`, 0) = 1)"),
            ("a.b[2].c['d'] == 1", "(value_at(`cars`.`a`.`b`, 2, 'c', 'd') = 1)"),
            ("a == [1, 'x', b]", "(`cars`.`a` = [1, 'x', `cars`.`b`])"),
            ("starts_with(a, 'x')", "starts_with(`cars`.`a`, 'x')"),
            ("ends_with(a, b)", "ends_with(`cars`.`a`, `cars`.`b`)"),
            ("regex(a, '^\\\\d+$')", "regexp_like(`cars`.`a`, '^\\\\d+$')"),
            ("contains(tags, 'new')", "array_contains(`cars`.`tags`, 'new')"),
            ("contains(['a', \"b\"], c)", "(`cars`.`c` IN ['a', 'b'])"),
            ("contains([], c)", "(`cars`.`c` IN [])"),
            ("contains($args.list, c)", "(`cars`.`c` IN :arg1)"),
            ("!contains(['a'], c)", "(NOT (`cars`.`c` IN ['a']))"),
            (#"a == 'it\'s "so"'"#, #"(`cars`.`a` = 'it\'s "so"')"#),
            (#"a == "\u00e9\n""#, "(`cars`.`a` = 'é\n')"),
            ("a.true == 1", "(`cars`.`a`.`true` = 1)"),
        ]
        for (text, expected) in cases {
            #expect(try translated(text, arguments) == expected, "\(text)")
        }
    }

    @Test func `syntax errors report their position`() throws {
        let cases = [
            ("color = 'red'", "unexpected = (line 1, column 7)", "write == to compare"),
            ("a & b", "unexpected & (line 1, column 3)", "write &&"),
            ("a == 'red", "unterminated string (line 1, column 6)", ""),
            (
                "a ==",
                "expected a field, a value or a function, found the end (line 1, column 5)", ""
            ),
            ("a == 1 b", "expected &&, || or the end, found b (line 1, column 8)", ""),
            ("a and b", "expected &&, || or the end, found and (line 1, column 3)", "write &&"),
            ("a == 1 == 2", "expected &&, || or the end, found == (line 1, column 8)", ""),
            ("(a || b", "expected &&, || or ), found the end (line 1, column 8)", ""),
            ("a ==\n  $args.x", "no argument x (line 2, column 3)", "known arguments: n, o"),
            ("a == $args.o.x", "the argument o has no field x (line 1, column 6)", ""),
            ("a == $0", "expected $args, found $0 (line 1, column 6)", "write $args.name"),
            ("$args", "expected .name after $args, found the end (line 1, column 6)", ""),
            ("near(a, 1)", "no function near (line 1, column 1)", "known functions: contains, "),
            ("length(a, 1)", "expected ), found , (line 1, column 9)", ""),
            ("keys()", "expected a field, a value or a function, found )", ""),
            ("starts_with(a)", "expected a comma and the second argument of starts_with", ""),
            ("contains(a, 1, 2)", "expected ), found , (line 1, column 14)", ""),
            ("a[b]", "expected an array index, or a key in quotes", ""),
            ("a.1", "expected a name, found 1 (line 1, column 3)", ""),
            ("a == -'x'", "expected a number, found \"x\" (line 1, column 7)", ""),
            (
                #"a == '\u12'"#,
                "\\u must be followed by four hexadecimal digits (line 1, column 7)", ""
            ),
            (
                #"a == '\u+12f'"#,
                "\\u must be followed by four hexadecimal digits (line 1, column 7)", ""
            ),
            ("", "expected a field, a value or a function, found the end (line 1, column 1)", ""),
            (String(repeating: "(", count: 40) + "a", "the condition is nested deeper than 32", ""),
            (String(repeating: "!", count: 40) + "a", "the condition is nested deeper than 32", ""),
        ]
        for (text, expected, hint) in cases {
            do {
                let translation = try translated(text, ["n": 1, "o": [:]])
                Issue.record("an invalid condition was accepted: \(text): \(translation)")
            } catch {
                let description = "\(error)"
                #expect(description.hasPrefix(expected), "\(description)")
                #expect(description.contains(hint), "\(description)")
            }
        }
    }

    @Test(arguments: [("(", ")"), ("!", "")])
    func `a condition nests up to 32 deep`(start: String, end: String) throws {
        func nested(_ depth: Int) -> String {
            String(repeating: start, count: depth) + "a" + String(repeating: end, count: depth)
        }
        #expect(throws: Never.self) { try translated(nested(32)) }
        let error = #expect(throws: ConditionError.self) { try translated(nested(33)) }
        #expect(error?.description.hasPrefix("the condition is nested deeper than 32") == true)
    }

    @Test(arguments: [59, 60, 61])
    func `an error shows at most 60 characters on both sides of its mark`(count: Int) throws {
        let text = String(repeating: "a", count: count) + "&" + String(repeating: "b", count: count)
        let error = #expect(throws: ConditionError.self) { try translated(text) }
        let lines = try #require(error).description.split(separator: "\n")
        let shown = min(count, 60)
        let after = "&" + String(repeating: "b", count: min(count, 59))
        #expect(lines[1] == "  " + String(repeating: "a", count: shown) + after)
        #expect(lines[2] == String(repeating: " ", count: shown + 2) + "^")
    }

    @Test func `length, keys and values work on arrays, objects and texts`()
        async throws
    {
        let ditto = try await Ditto.inMemory()
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS (:d)",
            arguments: [
                "d": [
                    "_id": 1, "tags": ["a", "b"], "parts": ["wheel": 4, "door": 5, "seat": 2],
                    "name": "héron", "n": 7,
                ] as [String: Any?]
            ])
        let holding = [
            "length(tags) == 2", "length(parts) == 3", "length(name) == 5", "length([1, 2]) == 2",
            "contains(keys(parts), 'door')", "!contains(keys(parts), 'roof')",
            "contains(values(parts), 5)", "length(keys(parts)) == length(parts)",
            "length(n) == null", "length(missing) == null", "length($args.list) == 3",
        ]
        for text in holding {
            let found = ditto.store["cars"].find(text, args: ["list": [1, 2, 3]]).exec()
            #expect(found.count == 1, "\(text)")
        }
        let none = ["length(tags) == 1", "length(n) == 1", "length(name) > 5"]
        for text in none {
            #expect(ditto.store["cars"].find(text).exec().isEmpty, "\(text)")
        }
    }

    @Test func `an error shows the line with a mark below the position`() {
        let error = #expect(throws: ConditionError.self) { try translated("a == 1 &&\nb = 2") }
        #expect(
            error?.description == """
                unexpected = (line 2, column 3)
                  b = 2
                    ^
                write == to compare
                """)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `random conditions find the same documents as a model`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "conditions")
        let ditto = try await Ditto.inMemory()
        let documents = (0..<40).map { RandomCondition.document($0, &random) }
        for document in documents {
            try await ditto.store.execute(
                query: "INSERT INTO cars DOCUMENTS (:d)", arguments: ["d": Value.object(document)])
        }
        for _ in 0..<100 {
            let condition = RandomCondition(&random, depth: 3)
            var parser = try ConditionParser(condition.text, collection: "cars")
            let text = try parser.condition()
            let result = try await ditto.store.execute(
                query: "SELECT _id FROM cars WHERE \(text) ORDER BY _id")
            let expected = documents.indices.filter { condition.holds(documents[$0]) == true }
            #expect(
                result.items.map { $0.value["_id"] as? Int } == expected,
                "seed \(seed): \(condition.text) as \(text)")
        }
        try await ditto.close()
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `texts and names with any characters can be queried`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "odd texts")
        let ditto = try await Ditto.inMemory()
        let alphabet = Array("ab'\"`\\$:.[]{}\n\t\u{0}é€😀-/*% ")
        func odd() -> String {
            String((0..<random.below(8)).map { _ in alphabet[random.below(alphabet.count)] })
        }
        func quoted(_ text: String) -> String {
            "'" + text.map { "'\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() + "'"
        }
        for id in 0..<30 {
            let (name, text) = (odd() + "x", odd())
            try await ditto.store.execute(
                query: "INSERT INTO cars DOCUMENTS (:d)",
                arguments: ["d": ["_id": id, name: text] as [String: Any]])
            var parser = try ConditionParser(
                "_id == \(id) && [\(quoted(name))] == \(quoted(text))", collection: "cars")
            let condition = try parser.condition()
            let result = try await ditto.store.execute(
                query: "SELECT * FROM cars WHERE \(condition)")
            #expect(result.items.count == 1, "seed \(seed): \(condition)")
        }
        try await ditto.close()
    }
}
