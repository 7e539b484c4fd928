import SheafTestSupport
import SheafText
import Testing

/// Tests of the sets of scalars in patterns: classes, ranges and their complements.
@Suite struct ScalarSetTests {
    private func matches(_ expression: String, _ flags: String = "") throws -> [Unicode.Scalar] {
        let pattern = try TextPattern.regularExpression("^" + expression + "$", flags: flags)
        return try Self.scalars.filter { try pattern.matches(String($0)) }
    }

    /// A scalar beyond ASCII of each general category.
    private static let others: [Unicode.Scalar] = [
        "\u{80}", "\u{85}", "\u{A0}", "\u{A3}", "\u{A7}", "\u{AA}", "\u{AB}", "\u{B2}",
        "\u{B4}",
        "\u{BB}", "\u{BD}", "\u{C9}", "\u{D7}", "\u{E9}", "\u{130}", "\u{131}", "\u{1C5}",
        "\u{2B0}", "\u{301}", "\u{3A3}", "\u{3C3}", "\u{488}", "\u{5D0}", "\u{663}", "\u{903}",
        "\u{200D}", "\u{2014}", "\u{2028}", "\u{203F}", "\u{2044}", "\u{2116}", "\u{2160}",
        "\u{212A}", "\u{3000}", "\u{3042}", "\u{E000}", "\u{1F600}",
    ]
    private static let scalars: [Unicode.Scalar] =
        (0..<128).compactMap { Unicode.Scalar($0 as UInt32) } + others

    private func ascii(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.sorted()
    }

    private static let digits = "0123456789"
    private static let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    private static let lower = "abcdefghijklmnopqrstuvwxyz"
    private static let letters = upper + lower
    private static let alphanumeric = digits + letters
    private static let word = alphanumeric + "_"
    private static let marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

    /// The letters of each class.
    private static let classes: [(expression: String, ascii: String, others: [Unicode.Scalar])] = [
        ("\\d", digits, []), ("[[:digit:]]", digits, []),
        ("[[:upper:]]", upper, ["\u{C9}", "\u{130}", "\u{3A3}", "\u{2160}", "\u{212A}"]),
        (
            "[[:lower:]]", lower,
            ["\u{AA}", "\u{E9}", "\u{131}", "\u{2B0}", "\u{3C3}"]
        ),
        ("\\s", "\t\n\u{B}\u{C}\r ", ["\u{85}", "\u{A0}", "\u{2028}", "\u{3000}"]),
        ("[[:space:]]", "\t\n\u{B}\u{C}\r ", ["\u{85}", "\u{A0}", "\u{2028}", "\u{3000}"]),
        (
            "[[:whitespace:]]", "\t\n\u{B}\u{C}\r ",
            ["\u{85}", "\u{A0}", "\u{2028}", "\u{3000}"]
        ),
        (
            "[[:punct:]]", marks,
            ["\u{A7}", "\u{AB}", "\u{BB}", "\u{2014}", "\u{203F}"]
        ),
        (
            "[[:alpha:]]", letters,
            [
                "\u{AA}", "\u{C9}", "\u{E9}", "\u{130}", "\u{131}", "\u{1C5}", "\u{2B0}",
                "\u{3A3}", "\u{3C3}", "\u{5D0}", "\u{903}", "\u{2160}", "\u{212A}", "\u{3042}",
            ]
        ),
        (
            "[[:alnum:]]", alphanumeric,
            [
                "\u{AA}", "\u{C9}", "\u{E9}", "\u{130}", "\u{131}", "\u{1C5}", "\u{2B0}",
                "\u{3A3}", "\u{3C3}", "\u{5D0}", "\u{663}", "\u{903}", "\u{2160}", "\u{212A}",
                "\u{3042}",
            ]
        ),
        (
            "\\w", word,
            [
                "\u{AA}", "\u{C9}", "\u{E9}", "\u{130}", "\u{131}", "\u{1C5}", "\u{2B0}",
                "\u{301}", "\u{3A3}", "\u{3C3}", "\u{488}", "\u{5D0}", "\u{663}", "\u{903}",
                "\u{203F}", "\u{2160}", "\u{212A}", "\u{3042}",
            ]
        ),
    ]

    @Test func `a class has its letters of ASCII and of other scripts`() throws {
        for (expression, letters, others) in Self.classes {
            let expected = ascii(letters) + others
            #expect(try matches(expression) == expected, "\(expression)")
            let rest = Self.scalars.filter { !expected.contains($0) }
            guard expression.hasPrefix("\\") else {
                let negated = "[^" + String(expression.dropFirst())
                #expect(try matches(negated) == rest, "\(expression)")
                continue
            }
            let opposite = expression.uppercased()
            #expect(try matches("[^\(expression)]") == rest, "\(expression)")
            #expect(try matches(opposite) == rest, "\(expression)")
            #expect(try matches("[\(opposite)]") == rest, "\(expression)")
            #expect(try matches("[^\(opposite)]") == expected, "\(expression)")
            #expect(try matches("[\(expression)\(opposite)]") == Self.scalars)
        }
    }

    @Test func `several ranges and classes are united`() throws {
        let spaces: [Unicode.Scalar] = ["\u{85}", "\u{A0}", "\u{2028}", "\u{3000}"]
        let united = ascii("\t\n\u{B}\u{C}\r 0123456789abcx") + spaces
        #expect(try matches("[a-c\\dx[:space:]]") == united)
        let words = ascii(Self.digits + Self.upper + "_")
        let found = try matches("[[:digit:][:upper:]_]").filter { $0.isASCII }
        #expect(found == words)
    }

    /// A part of Unicode with letters of both cases.
    private static let range: ClosedRange<UInt32> = 0x20...0x250

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a set has the scalars of its ranges, in both cases if it ignores case`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "ranges")
        func draw() -> UInt32 { Self.range.lowerBound + UInt32(random.below(0x230)) }
        for round in 0..<8 {
            var ranges: [ClosedRange<UInt32>] = []
            for _ in 0..<1 + random.below(6) {
                let lower = draw()
                let length = random.chance(1, in: 3) ? 0 : UInt32(random.below(40))
                ranges.append(lower...lower + length)
            }
            let items = ranges.map { range in
                let lower = "\\u{" + String(range.lowerBound, radix: 16) + "}"
                let upper = "\\u{" + String(range.upperBound, radix: 16) + "}"
                return range.count == 1 ? lower : lower + "-" + upper
            }
            let isNegated = random.chance(1, in: 3)
            let ignoresCase = random.chance(1, in: 2)
            let text = "^[" + (isNegated ? "^" : "") + items.joined() + "]$"
            let pattern = try TextPattern.regularExpression(text, flags: ignoresCase ? "i" : "")
            var members: Set<UInt32> = []
            for range in ranges { members.formUnion(range) }
            // Scalars are equal if they have the same single lower case.
            let lowered = Set(members.compactMap { Unicode.Scalar($0).map(PatternModel.lower) })
            for number in Self.range {
                guard let scalar = Unicode.Scalar(number) else { continue }
                let isMember =
                    ignoresCase
                    ? lowered.contains(PatternModel.lower(scalar)) : members.contains(number)
                let found = try pattern.matches(String(scalar))
                if found != (isMember != isNegated) {
                    Issue.record("seed \(seed), round \(round): \(text) and \(number)")
                }
            }
        }
    }
}
