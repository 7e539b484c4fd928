import SheafText
import Testing

/// Meaning, errors and cost of patterns.
@Suite struct TextPatternTests {
    private func like(_ text: String, _ pattern: String, _ escape: Unicode.Scalar? = nil) throws
        -> Bool
    {
        try TextPattern.like(pattern, escape: escape, isCaseInsensitive: false).matches(text)
    }

    private func similar(_ text: String, _ pattern: String) throws -> Bool {
        try TextPattern.similar(pattern, escape: "!").matches(text)
    }

    private func regular(_ text: String, _ pattern: String, _ flags: String = "") throws -> Bool {
        try TextPattern.regularExpression(pattern, flags: flags).matches(text)
    }

    @Test func `LIKE matches the complete text, scalar by scalar`() throws {
        #expect(try like("", "") && like("", "%") && like("", "%%") && !like("", "_"))
        #expect(try like("abc", "abc") && !like("abc", "ab") && !like("abc", "bc"))
        #expect(try like("abc", "a%") && like("abc", "%c") && like("abc", "%b%"))
        #expect(try like("aXbXc", "a%b%c") && !like("ab", "ab%b") && !like("aba", "ab%ba"))
        #expect(try like("\u{E9}", "_") && !like("e\u{301}", "_") && like("e\u{301}", "__"))
        #expect(try like("\u{1F600}!", "_!") && like("x\u{1F600}", "%_"))
        // Canonical equivalence is not equality.
        #expect(try !like("\u{E9}", "e\u{301}"))
    }

    @Test func `LIKE has no escape character without ESCAPE`() throws {
        #expect(try like("\\x", "\\_") && !like("_", "\\_"))
        #expect(try like("_", "\\_", "\\") && !like("x", "\\_", "\\"))
        #expect(try like("50%", "50!%", "!") && !like("50x", "50!%", "!") && like("a!", "a!!", "!"))
        // An escaped ordinary character stands for itself.
        #expect(try like("ab", "a!b", "!"))
    }

    @Test func `ILIKE folds case scalar by scalar`() throws {
        func ilike(_ text: String, _ pattern: String) throws -> Bool {
            try TextPattern.like(pattern, escape: nil, isCaseInsensitive: true).matches(text)
        }
        #expect(try ilike("STRASSE", "strasse") && ilike("\u{C9}T\u{C9}", "\u{E9}t_"))
        #expect(try ilike("\u{212A}", "k") && ilike("\u{23A}x", "\u{2C65}%"))
        #expect(try !ilike("\u{DF}", "ss") && ilike("\u{3A3}", "\u{3C3}"))
        // A scalar whose lowercase form has two scalars is not folded.
        #expect(try ilike("\u{130}", "_") && !ilike("\u{130}", "i"))
    }

    @Test func `a pattern exposes its prefix and literal to the planner`() throws {
        func facts(_ pattern: TextPattern) -> String {
            let prefix = String(decoding: pattern.literalPrefix, as: UTF8.self)
            let literal = pattern.literal.map { String(decoding: $0, as: UTF8.self) }
            return "\(prefix) \(pattern.isPrefix) \(literal ?? "-")"
        }
        func like(_ pattern: String, _ ignoresCase: Bool = false) throws -> String {
            facts(try .like(pattern, escape: "!", isCaseInsensitive: ignoresCase))
        }
        #expect(try like("abc") == "abc false abc")
        #expect(try like("") == " false ")
        #expect(try like("abc%") == "abc true -" && like("abc%%") == "abc true -")
        #expect(try like("%") == " true -" && like("a!%%") == "a% true -")
        #expect(try like("ab_%") == "ab false -" && like("a%b%") == "a false -")
        #expect(try like("%a") == " false -" && like("abc", true) == " false -")
        #expect(facts(try .similar("ab%", escape: nil)) == "ab true -")
        #expect(facts(try .similar("ab(c|d)", escape: nil)) == "ab false -")
        #expect(facts(try .similar("ab|ac", escape: nil)) == " false -")
        #expect(facts(try .similar("abc*", escape: nil)) == "ab false -")
        #expect(facts(try .regularExpression("^ab", flags: "")) == "ab true -")
        #expect(facts(try .regularExpression("^ab$", flags: "")) == "ab false ab")
        #expect(facts(try .regularExpression("^ab$", flags: "m")) == " false -")
        #expect(facts(try .regularExpression("^ab[cd]", flags: "")) == "ab false -")
        #expect(facts(try .regularExpression("^ab[cd]", flags: "i")) == " false -")
    }

    @Test func `SIMILAR TO supports the SQL operators only`() throws {
        #expect(try similar("abc", "abc") && !similar("xabc", "abc") && similar("abc", "%(b|d)%"))
        #expect(try similar("abc", "a_c") && similar("aaa", "a{3}") && !similar("aa", "a{3,}"))
        #expect(
            try similar("", "") && similar("", "a*") && similar("", "()") && similar("b", "a|b"))
        // Dots and anchors are ordinary characters.
        #expect(try similar("a.c", "a.c") && !similar("abc", "a.c") && similar("^$", "^$"))
        #expect(
            try similar("%", "!%") && !similar("x", "!%") && similar("(", "!(")
                && similar("\\d", "\\d"))
        #expect(try similar("a\nb", "a_b") && similar("7z", "[[:DIGIT:]][^[:digit:]]"))
        #expect(try similar("]-", "[]][-a]") && similar("!", "[!!]") && similar("]", "[!]]"))
    }

    @Test func `regular expressions match anywhere in the text`() throws {
        #expect(try regular("xabcx", "abc") && !regular("xabx", "abc") && regular("", ""))
        #expect(
            try regular("abc", "^a.c$") && !regular("xabc", "^abc") && !regular("abc\n", "abc$"))
        #expect(try regular("a1_\u{E9}e\u{301}", #"^\w+$"#) && !regular("\u{1F600}", #"\w"#))
        #expect(
            try regular("x y", #"x\sy"#) && regular("x\u{A0}y", #"x\sy"#) && !regular("xy", #"\s"#))
        #expect(try regular("a7", #"\D\d"#) && !regular("\u{663}", #"\d"#) && regular("-", #"\W"#))
        #expect(try regular("a cat", #"\bcat\b"#) && !regular("concat", #"\bcat"#))
        // A boundary is checked anew at each position.
        #expect(try regular("abx ab", #"(\bab)+\b$"#))
        #expect(try regular("concat", #"\Bcat"#) && regular("a", "(?<x>a)(?:b)?(?P<y>)"))
        #expect(try regular("A\u{E9}\t\u{1F600}", #"\x41\u00e9\t\u{1F600}"#))
        #expect(
            try regular("{a}{,2}", "{a}{,2}") && regular("]}", "]}")
                && regular("a-z", #"[\w-]-[z]"#))
        #expect(try regular("$", "[$]") && regular(".", #"^\.$"#) && regular("aaaa", "^(a{2}){2}$"))
        #expect(try regular("ab", "a+?b*?") && regular("-", "[a-]") && regular("\u{8}", #"[\b]"#))
        #expect(try !regular("b", "a|") == false && regular("x", "|"))
    }

    @Test func `flags change the meaning of letters, anchors, dots and spaces`() throws {
        #expect(try regular("ABC", "abc", "i") && regular("\u{C9}", "[\u{E9}]", "i"))
        #expect(try regular("k", "[\u{212A}]", "i") && regular("\u{212A}", "[a-z]", "i"))
        #expect(try !regular("\u{17F}", "[A-Z]", "i") && !regular("\u{17F}", "s", "i"))
        #expect(try !regular("a", "[^A]", "i") && regular("a", "[[:upper:]]", "i"))
        #expect(try !regular("a\nb", "a.b") && regular("a\nb", "a.b", "s"))
        #expect(
            try regular("a\nb", "^b$", "m") && !regular("a\nb", "^b$") && regular("a\nb", "a$", "m")
        )
        #expect(try regular("ab", " a # first\n b ", "x") && regular("a b", #"a\ b"#, "x"))
        #expect(try regular("a b", "a[ ]b", "x") && regular("aaa", "^a {3} $", "x"))
    }

    @Test func `an invalid pattern is refused with its position`() {
        func shows(
            _ column: Int, _ message: String, _ make: () throws(PatternError) -> TextPattern
        ) -> Bool {
            do {
                _ = try make()
                return false
            } catch {
                let start = error.part.map { part in
                    Substring(part.pattern.utf8.prefix(part.range.lowerBound)).count
                }
                let isSame = error.message.contains(message) && start == column - 1
                if !isSame { print(error) }
                return isSame && error.kind == .invalid
            }
        }
        let expressions: [(String, Int, String)] = [
            ("a)", 2, "unmatched )"), ("(a", 1, "unmatched ("), ("x(?:(a)", 2, "unmatched ("),
            ("[a", 1, "unmatched ["), ("x[]", 2, "unmatched ["), ("*", 1, "nothing to repeat"),
            ("a|+", 3, "nothing to repeat"), ("({2})", 2, "nothing to repeat"),
            ("a**", 3, "parentheses"), ("\u{E9}+{2}", 3, "parentheses"), ("a*+", 3, "parentheses"),
            ("a{3,2}", 2, "at least 3 and at most 2"), ("[b-a]", 2, "end before"),
            ("a\\", 2, "nothing to escape"), ("(a)\\1", 4, "backreferences"),
            ("\\k<x>", 1, "backreferences"), ("(?P=x)", 1, "backreferences"),
            ("x(?=a)", 2, "lookahead"), ("(?<!a)", 1, "lookbehind"), ("(?i)a", 1, "expected (?:"),
            ("(?<>a)", 4, "name of a group"), ("\\q", 1, "known escape"),
            ("\\p{L}", 1, "\\p is not"),
            ("\\x4", 1, "hexadecimal"), ("\\u{110000}", 1, "hexadecimal"),
            ("\\ud800", 1, "hexadecimal"),
            ("[\\B]", 2, "not allowed"), ("[[:x:]]", 2, "[:x:]"),
        ]
        for (pattern, column, message) in expressions {
            #expect(
                shows(column, message) { () throws(PatternError) in
                    try .regularExpression(pattern, flags: "")
                }, "\(pattern)")
        }
        for (pattern, column, message) in [
            ("a!", 2, "nothing to escape"), ("{2}", 1, "nothing to repeat"),
            ("a{b}", 2, "expected {n}"),
            ("a*?", 3, "parentheses"), ("a{1!}", 2, "expected {n}"),
        ] {
            #expect(
                shows(column, message) { () throws(PatternError) in
                    try .similar(pattern, escape: "!")
                }, "\(pattern)")
        }
        #expect(
            shows(3, "nothing to escape") { () throws(PatternError) in
                try .like("%a!", escape: "!", isCaseInsensitive: false)
            })
        #expect(throws: PatternError.self) { try regular("a", "a", "g") }
    }

    private func isTooMuch(_ run: () throws(PatternError) -> TextPattern) -> Bool {
        do {
            _ = try run()
            return false
        } catch {
            return error.kind == .limit
        }
    }

    @Test func `patterns have limits of length, depth and states`() throws {
        func make(_ pattern: String) throws(PatternError) -> TextPattern {
            try .regularExpression(pattern, flags: "")
        }
        let length = PatternLimits.maximumLength
        _ = try TextPattern.similar(String(repeating: "a", count: length), escape: nil)
        _ = try make(String(repeating: "[ab]", count: length / 4))
        let long = String(repeating: "a", count: length + 1)
        #expect(isTooMuch { () throws(PatternError) in try make(long) })
        #expect(
            isTooMuch { () throws(PatternError) in
                try .like(long, escape: nil, isCaseInsensitive: true)
            })

        func nested(_ depth: Int) -> String {
            String(repeating: "(a|b(", count: depth / 2)
                + String(repeating: ")*)+", count: depth / 2)
        }
        _ = try make(nested(PatternLimits.maximumDepth))
        #expect(
            isTooMuch { () throws(PatternError) in
                try make(nested(PatternLimits.maximumDepth + 2))
            })
        #expect(
            isTooMuch { () throws(PatternError) in
                try make(String(repeating: "(", count: length))
            })

        _ = try make("(a{300}){300}")
        for pattern in [
            "(a{1000}){1000}", "((){1000}){1000}", "(((((){99}){99}){99}){99}){99}", "a{100001}",
            "a{99999999999999999999}", "(a{0,400}){400}",
        ] {
            #expect(isTooMuch { () throws(PatternError) in try make(pattern) }, "\(pattern)")
        }
    }

    @Test(arguments: ["[ab]{99998}[ab]", "[ab]{99995}(x|y)", "[ab]{99999}"])
    func `a pattern has at most 100,000 states`(pattern: String) throws {
        // A choice has a state for each branch, and two that jump.
        _ = try TextPattern.regularExpression(pattern, flags: "")
        _ = try TextPattern.regularExpression(pattern + "[ab]", flags: "")
        let error = #expect(throws: PatternError.self) {
            try TextPattern.regularExpression(pattern + "[ab][ab]", flags: "")
        }
        #expect(error?.kind == .limit)
        #expect(error?.message == "a pattern has more than 100000 states")
    }

    @Test func `the groups of a pattern nest up to 32 deep`() throws {
        func nested(_ depth: Int) throws(PatternError) -> TextPattern {
            let groups = String(repeating: "(", count: depth) + "a"
            return try .regularExpression(groups + String(repeating: ")", count: depth), flags: "")
        }
        #expect(try nested(32).matches("a"))
        #expect(isTooMuch { () throws(PatternError) in try nested(33) })
    }

    @Test func `a part of a pattern may be repeated 100,000 times`() throws {
        _ = try TextPattern.regularExpression("[ab]{100000}", flags: "")
        let error = #expect(throws: PatternError.self) {
            try TextPattern.regularExpression("[ab]{100001}", flags: "")
        }
        #expect(error?.kind == .limit)
        #expect(error?.message == "a repetition of more than 100000 times")
    }

    @Test func `a search may use all of its fuel, and no more`() throws {
        #expect(PatternLimits.maximumFuel == 67_108_864)
        let pattern = try TextPattern.like("b", escape: nil, isCaseInsensitive: false)
        // This search costs a unit for each byte, and one more.
        for length in [998, 999, 1_000] {
            var fuel = 1_000
            let bytes = [UInt8](repeating: 0x61, count: length)
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(PatternError) in try pattern.matches(bytes, fuel: &fuel) }
            }
            switch result {
            case .success(let isFound): #expect(length < 1_000 && !isFound)
            case .failure(let error): #expect(length == 1_000 && error.kind == .limit)
            }
        }
    }

    /// Returns the cost of a search, nil if it ran out of fuel, or 0 after any other error.
    private func cost(_ pattern: TextPattern, _ text: String) -> Int? {
        let start = 4_000_000
        var fuel = start
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PatternError) in try pattern.matches(bytes, fuel: &fuel) }
        }
        if case .failure(let error) = result { return error.kind == .limit ? nil : 0 }
        return start - fuel
    }

    @Test func `a search costs a unit for every eight states, and for each byte that is skipped`()
        throws
    {
        for count in [6, 7, 15, 800] {
            let pattern = try TextPattern.regularExpression("[ab]{\(count)}", flags: "")
            // One more state accepts.
            let preparation = (count + 1) / 8
            #expect(cost(pattern, "") == preparation)
            #expect(cost(pattern, "cccc") == preparation + 4)
        }
    }

    @Test func `the cost of a search is linear in the length of the text`() throws {
        let patterns = [
            try TextPattern.regularExpression("^(a+)+b$", flags: ""),
            try .regularExpression("(a|aa|a*)*c", flags: "i"),
            try .regularExpression("(.*)(.*)(.*)(.*)x", flags: ""),
            try .regularExpression("(a?){30}a{30}b", flags: ""),
            try .regularExpression("((((a*)*)*)*)*$b", flags: ""),
            try .similar("%a%a%a%a%a%a%a%a%(b|c)", escape: nil),
            try .like("%a%a%a%a%a%a%a%a%b", escape: nil, isCaseInsensitive: false),
            try .like("%aaaaaaaaaaaaaaaaaaaaaaaaab%", escape: nil, isCaseInsensitive: true),
            try .like("%a_a_a_a_a_a_b%", escape: nil, isCaseInsensitive: false),
        ]
        for (index, pattern) in patterns.enumerated() {
            let once = try #require(cost(pattern, String(repeating: "a", count: 2_000)))
            let twice = try #require(cost(pattern, String(repeating: "a", count: 4_000)))
            #expect(
                twice < 2 * once + once / 20 && once < 2_000 * 200, "\(index): \(once), \(twice)")
        }
    }

    @Test func `a search that costs too much is aborted`() throws {
        let text = String(repeating: "a", count: 100_000)
        let expression = "(" + String(repeating: "a?", count: 30_000) + ")b"
        #expect(cost(try .regularExpression(expression, flags: ""), text) == nil)
        let wild = "%_" + String(repeating: "a", count: 50_000) + "b%"
        #expect(cost(try .like(wild, escape: nil, isCaseInsensitive: false), text) == nil)
        // Without inner wildcards, one linear search suffices.
        let plain = "%" + String(repeating: "a", count: 50_000) + "b%"
        #expect(cost(try .like(plain, escape: nil, isCaseInsensitive: false), text) != nil)
        let gaps = String(repeating: "%a", count: 30_000) + "%b"
        #expect(cost(try .like(gaps, escape: nil, isCaseInsensitive: false), text) != nil)
    }
}
