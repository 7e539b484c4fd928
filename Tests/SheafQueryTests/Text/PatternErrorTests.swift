import SheafText
import Testing

/// Tests of the messages of wrong patterns, and of the parts of the patterns that they mark.
@Suite struct PatternErrorTests {
    private func refusal(_ make: () throws(PatternError) -> TextPattern) -> PatternError? {
        do throws(PatternError) {
            _ = try make()
            return nil
        } catch {
            return error
        }
    }

    /// Returns the marked part of the pattern of an error.
    private func part(_ error: PatternError?) -> String? {
        error?.part.map { part in
            String(decoding: Array(part.pattern.utf8)[part.range], as: UTF8.self)
        }
    }

    @Test func `an error of a regular expression marks its part`() {
        let repeated = "a repetition cannot be repeated without parentheses"
        let backreferences = "backreferences are not supported in patterns"
        let lookaround = "lookahead and lookbehind are not supported in patterns"
        let hexadecimal = "expected the hexadecimal number of a character"
        let cases: [(pattern: String, message: String, part: String)] = [
            ("a)b", "unmatched ) in the pattern", ")"),
            ("(ab", "unmatched ( in the pattern", "("),
            ("x[ab", "unmatched [ in the pattern", "["),
            ("a|*b", "nothing to repeat in the pattern", "*"),
            ("a|{2,3}", "nothing to repeat in the pattern", "{2,3}"),
            ("(+", "nothing to repeat in the pattern", "+"),
            ("a{2}{3,}b", repeated, "{3,}"), ("a*?+", repeated, "+"), ("a+??", repeated, "?"),
            ("a{3,2}b", "a repetition of at least 3 and at most 2", "{3,2}"),
            ("[xb-a]", "a range must not end before its start", "b-a"),
            ("[\\x42-\\x41]", "a range must not end before its start", "\\x42-\\x41"),
            ("ab\\", "nothing to escape at the end of the pattern", "\\"),
            ("(a)\\1x", backreferences, "\\1"), ("\\k<x>", backreferences, "\\k"),
            ("(?P=x)", backreferences, "(?P="), ("x(?=a)", lookaround, "(?="),
            ("(?<!a)", lookaround, "(?<!"), ("(?!a)", lookaround, "(?!"),
            ("(?i)a", "expected (?: or (?<name> in the pattern", "(?i"),
            ("(?", "expected (?: or (?<name> in the pattern", "(?"),
            ("(?<>a)", "expected the name of a group and >", ">"),
            ("(?<ab", "expected the name of a group and >", "a"),
            ("a\\q", "\\q is not a known escape in patterns", "\\q"),
            ("\\Z", "\\Z is not a known escape in patterns", "\\Z"),
            (
                "\\p{L}", "\\p is not supported in patterns; \\w and [[:alpha:]] are", "\\p"
            ),
            ("\\x4g", hexadecimal, "\\x4"), ("\\u{110000}a", hexadecimal, "\\u{110000}"),
            ("\\u{}", hexadecimal, "\\u{"), ("\\x{41", hexadecimal, "\\x{41"),
            ("\\ud800", hexadecimal, "\\ud800"), ("\\u004", hexadecimal, "\\u004"),
            ("[a\\B]", "assertions are not allowed in [ ]", "\\B"),
            ("[[:x:]]", "unknown character class [:x:]", "[:x:]"),
            (
                "[[:abcdefghijklmnop:]]", "unknown character class [:abcdefghijklmnop:]",
                "[:abcdefghijklmnop:]"
            ),
        ]
        for (pattern, message, marked) in cases {
            // Scalars of several bytes before the part move its range.
            for start in ["", "\u{E9}\u{1F600}"] {
                let error = refusal { () throws(PatternError) in
                    try .regularExpression(start + pattern, flags: "")
                }
                #expect(error?.message == message, "\(pattern)")
                #expect(part(error) == marked, "\(pattern)")
                #expect(error?.kind == .invalid && error?.hint == nil, "\(pattern)")
            }
        }
    }

    @Test func `an error of SIMILAR TO or LIKE marks its part`() {
        let expected = "expected {n}, {n,} or {n,m} in the pattern"
        let repeated = "a repetition cannot be repeated without parentheses"
        let cases: [(pattern: String, message: String, part: String)] = [
            ("a!", "nothing to escape at the end of the pattern", "!"),
            ("a{b}c", expected, "{"), ("a{1!}", expected, "{"), ("a{1,2", expected, "{"),
            ("a{,2}", expected, "{"), ("a*?", repeated, "?"),
            ("{2}", "nothing to repeat in the pattern", "{2}"),
            ("a(b", "unmatched ( in the pattern", "("),
        ]
        for (pattern, message, marked) in cases {
            let error = refusal { () throws(PatternError) in try .similar(pattern, escape: "!") }
            #expect(error?.message == message, "\(pattern)")
            #expect(part(error) == marked, "\(pattern)")
        }
        for escape: Unicode.Scalar in ["!", "\u{E9}", "\u{1F600}"] {
            let pattern = "%a_" + String(escape)
            let error = refusal { () throws(PatternError) in
                try .like(pattern, escape: escape, isCaseInsensitive: false)
            }
            #expect(error?.message == "nothing to escape at the end of the pattern")
            #expect(part(error) == String(escape))
            #expect(error?.part?.range.upperBound == pattern.utf8.count)
        }
    }

    @Test func `a limit of patterns has a message with its number`() {
        let deep = String(repeating: "(", count: 33)
        let nesting = refusal { () throws(PatternError) in
            try .regularExpression("ab" + deep, flags: "")
        }
        #expect(nesting?.kind == .limit)
        #expect(nesting?.message == "groups are nested deeper than the limit of 32")
        #expect(nesting?.part?.range == 34..<35)
        let repetition = refusal { () throws(PatternError) in
            try .regularExpression("a{1,100001}b", flags: "")
        }
        #expect(repetition?.kind == .limit && part(repetition) == "100001")
        #expect(repetition?.message == "a repetition of more than 100000 times")
        let states = refusal { () throws(PatternError) in
            try .regularExpression("([ab]{1000}){101}", flags: "")
        }
        #expect(states?.kind == .limit && states?.part == nil)
        #expect(states?.hint == "repetitions such as {1000} are expanded")
        let long = refusal { () throws(PatternError) in
            try .like(
                String(repeating: "a", count: 65_537), escape: nil, isCaseInsensitive: true)
        }
        #expect(long?.kind == .limit && long?.part == nil)
        #expect(long?.message == "a pattern has more than 65536 bytes")
        let flag = refusal { () throws(PatternError) in try .regularExpression("a", flags: "ig") }
        #expect(flag?.kind == .invalid && flag?.part == nil)
        #expect(flag?.message == "unknown flag g for a regular expression")
        #expect(flag?.hint == "the flags are i, m, s and x")
    }

    @Test func `a search without fuel has a message`() throws {
        let pattern = try TextPattern.like("a%b", escape: nil, isCaseInsensitive: false)
        let bytes = Array("aab".utf8)
        for (start, isFound) in [(4, true), (3, false), (0, false)] {
            var fuel = start
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(PatternError) in try pattern.matches(bytes, fuel: &fuel) }
            }
            guard case .failure(let error) = result else {
                #expect(isFound && fuel == 0)
                continue
            }
            #expect(!isFound && error.kind == .limit)
            #expect(error.message == "matching the pattern takes too long")
            #expect(error.hint == "shorter patterns and smaller numbers in { } help")
        }
    }

    @Test func `a longer name of a class is no class, but letters`() throws {
        // The brackets contain a bracket, a colon and letters; another bracket follows them.
        let pattern = try TextPattern.regularExpression(
            "^[[:abcdefghijklmnopq:]]$", flags: "")
        #expect(try pattern.matches("q]") && pattern.matches("[]") && !pattern.matches("r]"))
    }
}
