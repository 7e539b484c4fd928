import SheafTestSupport
import SheafText
import Testing

/// Random patterns, compared with a model.
@Suite struct TextPatternModelTests {
    private func text(_ scalars: [Unicode.Scalar]) -> String {
        String(String.UnicodeScalarView(scalars))
    }

    /// Whether the prefix and literal given to the planner agree with the result of the match.
    private func agrees(_ pattern: TextPattern, _ text: String, _ isMatch: Bool) -> Bool {
        let starts = text.utf8.starts(with: pattern.literalPrefix)
        if isMatch && !starts { return false }
        if pattern.isPrefix && isMatch != starts { return false }
        if let literal = pattern.literal, isMatch != text.utf8.elementsEqual(literal) {
            return false
        }
        return true
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `LIKE accepts the same texts as its model`(seed: UInt64) throws {
        var patterns = RandomPattern(random: SeededRandom(seed: seed, "like"), dialect: .like)
        var accepted = 0
        for round in 0..<2_500 {
            patterns.escape = ["\\", "a", "%", "!"][patterns.random.below(4)]
            let ignoresCase = patterns.random.chance(1, in: 2)
            let parts = (0..<patterns.random.below(7)).map { _ -> PatternModel in
                switch patterns.random.below(5) {
                case 0: .any
                case 1, 2: .repetition(.any, 0, nil)
                default: .scalar(patterns.scalar())
                }
            }
            // An escape character that is a wildcard loses its wildcard meaning.
            let isHidden = patterns.escape == "%"
            let model = PatternModel.sequence(
                parts.filter {
                    if case .repetition = $0 { !isHidden } else { true }
                })
            guard case .sequence(let kept) = model else { return }
            let written = kept.map { patterns.write($0) }.joined()
            let pattern = try TextPattern.like(
                written, escape: patterns.escape, isCaseInsensitive: ignoresCase)
            for _ in 0..<4 {
                let scalars = patterns.text()
                let expected = model.ends(in: scalars, from: 0, ignoresCase: ignoresCase)
                    .contains(scalars.count)
                let found = try pattern.matches(text(scalars))
                accepted += found ? 1 : 0
                #expect(
                    found == expected && agrees(pattern, text(scalars), found),
                    "seed \(seed), round \(round): \(written) on \(text(scalars))")
            }
        }
        // If nearly all results were equal, their agreement would prove little.
        #expect((10_000 / 20...10_000 * 19 / 20).contains(accepted), "seed \(seed)")
    }

    @Test func `LIKE finds a long segment among many similar ones`() throws {
        var random = SeededRandom(seed: 7, "segments")
        func letter() -> Unicode.Scalar { random.chance(1, in: 4) ? "b" : "a" }
        var accepted = 0
        for round in 0..<6_000 {
            let parts = (0..<2 + random.below(9)).map { _ -> PatternModel in
                switch random.below(6) {
                case 0: .any
                case 1: .repetition(.any, 0, nil)
                default: .scalar(letter())
                }
            }
            let model = PatternModel.sequence(
                [.repetition(.any, 0, nil)] + parts + [.repetition(.any, 0, nil)])
            guard case .sequence(let all) = model else { return }
            var writer = RandomPattern(random: random, dialect: .like)
            let written = all.map { writer.write($0) }.joined()
            let scalars = (0..<random.below(24)).map { _ in letter() }
            let expected = model.ends(in: scalars, from: 0, ignoresCase: false)
                .contains(scalars.count)
            let pattern = try TextPattern.like(written, escape: nil, isCaseInsensitive: false)
            let found = try pattern.matches(text(scalars))
            accepted += found ? 1 : 0
            #expect(found == expected, "round \(round): \(written) on \(text(scalars))")
        }
        #expect((600...5_400).contains(accepted))
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `SIMILAR TO accepts the same texts as its model`(seed: UInt64) throws {
        var patterns = RandomPattern(
            random: SeededRandom(seed: seed, "similar"), dialect: .similar, escape: "\\")
        var accepted = 0
        for round in 0..<2_000 {
            let model = patterns.node(depth: 3)
            let written = patterns.write(model)
            let pattern = try TextPattern.similar(written, escape: "\\")
            for _ in 0..<4 {
                let scalars = patterns.text()
                let expected = model.ends(in: scalars, from: 0, ignoresCase: false)
                    .contains(scalars.count)
                let found = try pattern.matches(text(scalars))
                accepted += found ? 1 : 0
                #expect(
                    found == expected && agrees(pattern, text(scalars), found),
                    "seed \(seed), round \(round): \(written) on \(text(scalars))")
            }
        }
        // If nearly all results were equal, their agreement would prove little.
        #expect((8_000 / 20...8_000 * 19 / 20).contains(accepted), "seed \(seed)")
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `regular expressions accept the same texts as their model`(seed: UInt64) throws {
        var patterns = RandomPattern(
            random: SeededRandom(seed: seed, "regular"), dialect: .regularExpression)
        var accepted = 0
        for round in 0..<3_000 {
            let ignoresCase = patterns.random.chance(1, in: 3)
            patterns.areLines = patterns.random.chance(1, in: 3)
            patterns.dotIsAll = patterns.random.chance(1, in: 3)
            let flags =
                (ignoresCase ? "i" : "") + (patterns.areLines ? "m" : "")
                + (patterns.dotIsAll ? "s" : "")
            let model = patterns.node(depth: 3)
            let written = patterns.write(model)
            let pattern = try TextPattern.regularExpression(written, flags: flags)
            for _ in 0..<4 {
                let scalars = patterns.text()
                let expected = (0...scalars.count).contains {
                    !model.ends(in: scalars, from: $0, ignoresCase: ignoresCase).isEmpty
                }
                let found = try pattern.matches(text(scalars))
                accepted += found ? 1 : 0
                #expect(
                    found == expected && agrees(pattern, text(scalars), found),
                    "seed \(seed), round \(round): /\(written)/\(flags) on \(text(scalars))")
            }
        }
        // If nearly all results were equal, their agreement would prove little.
        #expect((12_000 / 20...12_000 * 19 / 20).contains(accepted), "seed \(seed)")
    }

    @Test func `patterns match invalid UTF-8 without a trap`() throws {
        var random = SeededRandom(seed: 5, "bytes")
        let patterns = [
            try TextPattern.like("%_a_%b_", escape: nil, isCaseInsensitive: false),
            try TextPattern.like("_\u{C9}%", escape: nil, isCaseInsensitive: true),
            try TextPattern.regularExpression("(a.|\u{E9}\\w|[^b]\\b)+$", flags: "is"),
            try TextPattern.similar("(_|[[:alpha:]]){3,}", escape: nil),
        ]
        for _ in 0..<20_000 {
            let bytes = random.bytes(random.below(12)).map { $0 & 1 == 0 ? $0 : $0 | 0xC0 }
            for pattern in patterns {
                _ = try bytes.withUnsafeBytes { bytes in
                    Result { () throws(PatternError) in try pattern.matches(bytes) }
                }.get()
            }
        }
    }
}
