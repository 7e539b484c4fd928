import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

/// The string functions, one by one.
@Suite struct TextFunctionTests {
    /// Returns the result of a function, or an unexpected string if there is no such function.
    private func call(_ name: String, _ arguments: [Value?]) throws(StoreError) -> Value? {
        guard let function = Function.texts.first(where: { $0.name == name }) else {
            return .string("there is no \(name)")
        }
        return try function.evaluate(arguments, FunctionContext(now: 0))
    }

    /// Checks a function against rows of arguments and expected results.
    private func check(_ name: String, _ rows: [([Value?], Value?)]) throws {
        #expect(rows.count >= 5)
        for (arguments, expected) in rows {
            let found = try call(name, arguments)
            #expect(found == expected, "\(name)\(arguments)")
        }
    }

    private func isTooMuch(_ name: String, _ arguments: [Value?]) -> Bool {
        do {
            _ = try call(name, arguments)
            return false
        } catch {
            return error.reason == .limit
        }
    }

    @Test func `an argument of a wrong type yields MISSING, and NULL yields NULL`() throws {
        // These arguments are valid.
        let fitting: [String: [Value?]] = [
            "concat": ["a", "b"], "contains": ["a", "b"], "starts_with": ["a", "b"],
            "ends_with": ["a", "b"], "byte_length": ["a"], "char_length": ["a"],
            "character_length": ["a"], "lower": ["a"], "upper": ["a"], "substr": ["a", 0, 1],
            "pos": ["a", "b"], "split": ["a", "b"], "joinstr": ["a", "b", "c"],
            "ltrim": ["a", "b"], "rtrim": ["a", "b"], "trim": ["a", "b"], "lpad": ["a", 2, "b"],
            "rpad": ["a", 2, "b"], "repeat": ["a", 2], "replace": ["a", "b", "c"],
            "regexp_like": ["a", "b", "i"],
        ]
        #expect(Set(Function.texts.map(\.name)) == Set(fitting.keys))
        #expect(Function.texts.count == fitting.count)
        let values: [Value] = [true, 1.5, .bytes([97]), ["x": "a"], [1], 7, "t", 2.0]
        for (name, arguments) in fitting {
            #expect(try call(name, arguments) != nil, "\(name)")
            #expect(try call(name, []) == nil, "\(name)")
            for index in arguments.indices {
                for value in values where value.kind != arguments[index]?.kind {
                    var wrong = arguments
                    wrong[index] = value
                    #expect(try call(name, wrong) == nil, "\(name)\(wrong)")
                    // A wrong type takes precedence over NULL.
                    for other in arguments.indices where other != index {
                        wrong[other] = .null
                        #expect(try call(name, wrong) == nil, "\(name)\(wrong)")
                    }
                }
                var changed = arguments
                changed[index] = .null
                #expect(try call(name, changed) == .null, "\(name)\(changed)")
                for other in arguments.indices where other != index {
                    var missing = changed
                    missing[other] = .none
                    #expect(try call(name, missing) == nil, "\(name)\(missing)")
                }
            }
        }
        // Counts must be integers.
        #expect(try call("repeat", ["a", 2.0]) == nil && call("substr", ["a", 0.0]) == nil)
    }

    @Test func `byte_length counts bytes, and char_length counts scalars`() throws {
        let texts: [(Value, Int64, Int64)] = [
            ("", 0, 0), ("abc", 3, 3), ("\u{E9}", 2, 1), ("e\u{301}", 3, 2), ("\u{1F600}", 4, 1),
            ("\u{1F1EB}\u{1F1F7}", 8, 2), ("a\0b", 3, 3), ("\r\n", 2, 2),
        ]
        try check("byte_length", texts.map { ([$0.0], .integer($0.1)) })
        try check("char_length", texts.map { ([$0.0], .integer($0.2)) })
        try check("character_length", texts.map { ([$0.0], .integer($0.2)) })
    }

    @Test func `substrings are compared byte by byte`() throws {
        try check(
            "contains",
            [
                (["abc", "b"], true), (["abc", ""], true), (["", ""], true), (["", "a"], false),
                (["abc", "ac"], false), (["caf\u{E9}", "\u{E9}"], true),
                (["cafe\u{301}", "\u{E9}"], false), (["cafe\u{301}", "e"], true),
                (["\r\n", "\n"], true),
            ])
        try check(
            "starts_with",
            [
                (["abc", "ab"], true), (["abc", ""], true), (["", "a"], false),
                (["abc", "abcd"], false), (["e\u{301}", "e"], true), (["\u{E9}", "e"], false),
                (["abc", "bc"], false),
            ])
        try check(
            "ends_with",
            [
                (["abc", "bc"], true), (["abc", ""], true), (["", ""], true), (["", "a"], false),
                (["abc", "xabc"], false), (["e\u{301}", "\u{301}"], true),
                (["\u{1F600}", "\u{1F600}"], true),
            ])
        try check(
            "pos",
            [
                (["abc", "a"], 0), (["abc", "c"], 2), (["abc", "d"], -1), (["abc", ""], 0),
                (["", ""], 0), (["", "a"], -1), (["\u{E9}\u{1F600}b", "b"], 2),
                (["e\u{301}b", "b"], 2), (["abab", "ba"], 1),
            ])
    }

    @Test func `lower and upper follow Unicode, even if the length changes`() throws {
        try check(
            "lower",
            [
                (["ABC"], "abc"), ([""], ""), (["\u{C9}"], "\u{E9}"), (["E\u{301}"], "e\u{301}"),
                (["\u{130}"], "i\u{307}"), (["a1\u{1F600}"], "a1\u{1F600}"),
            ])
        try check(
            "upper",
            [
                (["abc"], "ABC"), ([""], ""), (["\u{E9}"], "\u{C9}"), (["\u{DF}"], "SS"),
                (["\u{390}"], "\u{399}\u{308}\u{301}"), (["\u{FB03}"], "FFI"),
            ])
        let limit = QueryLimits.maximumTextLength
        let long = String(repeating: "\u{390}", count: limit / 6 + 1)
        #expect(isTooMuch("upper", [.string(long)]))
    }

    @Test func `substr counts a start from zero, and a negative start from the end`() throws {
        try check(
            "substr",
            [
                (["abcde", 0], "abcde"), (["abcde", 1, 2], "bc"), (["abcde", 4, 9], "e"),
                (["abcde", 5], ""), (["abcde", 9, 1], ""), (["abcde", -2], "de"),
                (["abcde", -5, 1], "a"), (["abcde", -9, 2], "ab"), (["abcde", 1, 0], ""),
                (["abcde", 1, -1], ""), (["", 0], ""), (["", -1, 3], ""),
                (["\u{E9}\u{1F600}z", 1, 1], "\u{1F600}"), (["e\u{301}z", 1], "\u{301}z"),
                (["abc", .integer(.min)], "abc"), (["abc", .integer(.max)], ""),
                (["abc", 1, .integer(.max)], "bc"), (["abc", 1, .integer(.min)], ""),
                (["abc", .integer(.min), .integer(.max)], "abc"),
            ])
    }

    @Test func `split splits at each separator, and joinstr reverses it`() throws {
        try check(
            "split",
            [
                (["a,b,,c", ","], ["a", "b", "", "c"]), (["", ","], [""]), (["a", ","], ["a"]),
                ([",", ","], ["", ""]), (["aXYb", "XY"], ["a", "b"]), (["aaa", "aa"], ["", "a"]),
                (["e\u{301}\u{E9}", ""], ["e", "\u{301}", "\u{E9}"]), (["", ""], []),
                ([" a \u{A0}b\n"], ["a", "b"]), ([""], []), (["  "], []),
            ])
        let limit = QueryLimits.maximumElements
        let commas = String(repeating: ",", count: limit)
        #expect(isTooMuch("split", [.string(commas), ","]))
        #expect(isTooMuch("split", [.string(commas + ","), ""]))
        #expect(isTooMuch("split", [.string(String(repeating: "a ", count: limit + 1))]))
        guard case .array(let most)? = try call("split", [.string(commas), ""]) else {
            Issue.record("split refused the maximum number of elements")
            return
        }
        #expect(most.count == limit)

        try check(
            "joinstr",
            [
                ([",", "a", "b"], "a,b"), ([",", "a"], "a"), (["", "a", "b"], "ab"),
                ([", ", "", ""], ", "), (["-", ["a", "b"], "c"], "a-b-c"), (["-", []], ""),
                (["-", ["a", 1]], nil), (["-", ["a", .null]], .null), (["-", .null, 1], nil),
                (["-", [["a"]]], nil), (["\u{301}", "e", "e"], "e\u{301}e"),
            ])
        let long = Value.string(String(repeating: "x", count: QueryLimits.maximumTextLength))
        #expect(isTooMuch("joinstr", [",", long, ""]) && isTooMuch("concat", [long, "x"]))
        #expect(try call("concat", [long, ""]) == long)

        var random = SeededRandom(seed: 4, "split")
        for _ in 0..<2_000 {
            let text = String(
                (0..<random.below(9)).map { _ in random.chance(1, in: 2) ? "a" : "b" })
            let separator = String(
                (0...random.below(2)).map { _ in random.chance(1, in: 3) ? "a" : "b" })
            let parts = try call("split", [.string(text), .string(separator)])
            #expect(try call("joinstr", [.string(separator), parts]) == .string(text))
            let replaced = try call("replace", [.string(text), .string(separator), "-"])
            #expect(try call("joinstr", ["-", parts]) == replaced)
        }
    }

    @Test func `concat joins any number of strings`() throws {
        try check(
            "concat",
            [
                (["a"], "a"), (["a", "b", "c"], "abc"), (["", ""], ""),
                (["e", "\u{301}"], "e\u{301}"),
                (["a", .null], .null), ([1, .null], nil),
                (
                    Array(repeating: "\u{1F600}", count: 50),
                    .string(String(repeating: "\u{1F600}", count: 50))
                ),
            ])
    }

    @Test func `trim, ltrim and rtrim remove whitespace or the given characters`() throws {
        try check(
            "trim",
            [
                ([" a b\t\n"], "a b"), ([""], ""), (["  "], ""), (["\u{A0}a\u{2003}"], "a"),
                (["xyaxy", "yx"], "a"), (["aaa", "a"], ""), ([" a ", ""], " a "),
                ([" a ", "a"], " a "),
                (["\u{E9}ae\u{301}", "\u{E9}\u{301}"], "ae"), (["\u{1F600}a", "\u{1F600}"], "a"),
                (["\r\na\r\n"], "a"),
            ])
        try check(
            "ltrim",
            [
                (["  a "], "a "), ([""], ""), (["  "], ""), (["xxax", "x"], "ax"),
                (["e\u{301}", "e"], "\u{301}"),
            ])
        try check(
            "rtrim",
            [
                ([" a  "], " a"), ([""], ""), (["  "], ""), (["xaxx", "x"], "xa"),
                (["ae\u{301}", "\u{301}"], "ae"),
            ])
    }

    @Test func `lpad and rpad pad or cut a string to a number of characters`() throws {
        let zero = Value.integer(0)
        try check(
            "lpad",
            [
                (["a", 3], "  a"), (["a", 4, "xy"], "xyxa"), (["abc", 2, "x"], "ab"),
                (["abc", 3], "abc"),
                (["a", 3, ""], "a"), (["abc", 1, ""], "a"),
                (["", 2, "\u{1F600}"], "\u{1F600}\u{1F600}"),
                (["\u{E9}", 2, "e\u{301}"], "e\u{E9}"), (["a", zero], ""), (["a", -1], ""),
                (["a", .integer(.min)], ""), (["a", .integer(.max), ""], "a"),
            ])
        try check(
            "rpad",
            [
                (["a", 3], "a  "), (["a", 4, "xy"], "axyx"), (["abc", 2, "x"], "ab"),
                (["", 0], ""),
                (["e\u{301}e", 2], "e\u{301}"), (["a", 3, "\u{301}"], "a\u{301}\u{301}"),
                (["a", .integer(.min), "b"], ""),
            ])
        let limit = Int64(QueryLimits.maximumTextLength)
        for name in ["lpad", "rpad"] {
            #expect(
                isTooMuch(name, ["a", .integer(.max)])
                    && isTooMuch(name, ["a", .integer(.max), "bcd"]))
            #expect(isTooMuch(name, ["a", .integer(limit + 1)]))
            #expect(isTooMuch(name, ["a", .integer(limit / 4 + 2), "\u{1F600}"]))
            #expect(try call(name, ["a", .integer(limit)]) != nil)
        }
    }

    @Test func `repeat is empty for counts below one and has a limit`() throws {
        try check(
            "repeat",
            [
                (["ab", 3], "ababab"), (["ab", 1], "ab"), (["ab", 0], ""), (["ab", -1], ""),
                (["ab", .integer(.min)], ""), (["", .integer(.max)], ""),
                (["\u{301}", 2], "\u{301}\u{301}"),
            ])
        let limit = Int64(QueryLimits.maximumTextLength)
        #expect(isTooMuch("repeat", ["ab", .integer(.max)]))
        #expect(isTooMuch("repeat", ["a", .integer(limit + 1)]))
        #expect(try call("repeat", ["a", .integer(limit)]) != nil)
    }

    @Test func `replace works from left to right`() throws {
        try check(
            "replace",
            [
                (["abcabc", "b", "-"], "a-ca-c"), (["aaa", "aa", "b"], "ba"),
                (["abc", "", "x"], "abc"),
                (["abc", "abc", ""], ""), (["", "a", "b"], ""), (["a", "a", "aa"], "aa"),
                (["e\u{301}\u{E9}", "\u{E9}", "x"], "e\u{301}x"),
                (["\u{1F600}!", "!", "\u{1F600}"], "\u{1F600}\u{1F600}"),
            ])
        let text = Value.string(String(repeating: "a", count: 10_000))
        #expect(isTooMuch("replace", [text, "a", text]))
    }

    @Test func `regexp_like finds a match in any part of the text and accepts flags`() throws {
        try check(
            "regexp_like",
            [
                (["abc", "b"], true), (["abc", "^b"], false), (["ABC", "b", "i"], true),
                (["a\nB", "a.b", "is"], true), (["a\nB", "a.b", "i", "s"], true), (["", ""], true),
                (["\u{1F600}", "^.$"], true), (["e\u{301}", "^.$"], false),
                (["a", "b", ""], false),
            ])
    }

    @Test func `regexp_like refuses an invalid pattern and shows the wrong part of it`() {
        func error(_ arguments: [Value?]) -> StoreError? {
            do throws(StoreError) {
                _ = try call("regexp_like", arguments)
                return nil
            } catch {
                return error
            }
        }
        let unmatched = error(["a", "\u{E9}x("])
        #expect(unmatched?.reason == .argument)
        #expect(unmatched?.location?.column == 3 && unmatched?.excerpt?.text == "\u{E9}x(")
        let flag = error(["a", "a", "q"])
        #expect(flag?.reason == .argument && flag?.location == nil && flag?.hint != nil)
        let long = error(["a", .string(String(repeating: "a", count: 1 << 17))])
        #expect(long?.reason == .limit)
    }

    @Test func `substring search agrees with a naive search`() throws {
        var random = SeededRandom(seed: 6, "search")
        for round in 0..<3_000 {
            // Few letters and long needles exercise the tables of the search.
            let letters = 1 + random.below(2)
            let count = [8, 40, 400][random.below(3)]
            let text = (0..<random.below(count)).map { _ in
                random.chance(1, in: 30) ? UInt8(99) : UInt8(97 + random.below(letters))
            }
            let start = random.below(text.count + 1)
            let taken = text[start...].prefix(random.below(count / 2))
            var needle = Array(taken)
            if !needle.isEmpty, random.chance(1, in: 2) {
                needle[needle.count - 1] = 98
            }
            let expected = (0...text.count).first { text[$0...].starts(with: needle) } ?? -1
            let found = try call(
                "pos",
                [
                    .string(String(decoding: text, as: UTF8.self)),
                    .string(String(decoding: needle, as: UTF8.self)),
                ])
            #expect(found == .integer(Int64(expected)), "round \(round)")
        }
    }
}
