/// A compiled pattern of LIKE, ILIKE or SIMILAR TO, or a regular expression.
///
/// Matching does not backtrack and is limited by fuel. LIKE patterns without `_` between two `%`
/// consume about one unit per byte of the text, and other patterns at most about 34 units per state
/// and scalar.
package struct TextPattern: Sendable {
    private enum Machine {
        case like(LikePattern), program(PatternProgram)
    }

    private let machine: Machine
    /// Bytes with which every matching text begins.
    package let literalPrefix: [UInt8]
    /// Whether all texts with the prefix match, and no others.
    package let isPrefix: Bool
    /// The only matching text; nil if there may be others.
    package let literal: [UInt8]?

    /// Compiles a LIKE pattern: `%` is any text, `_` any scalar, and a scalar after `escape` a
    /// literal.
    ///
    /// As in SQL, no character is an escape by default, not even a backslash.
    package static func like(
        _ pattern: String, escape: Unicode.Scalar?, isCaseInsensitive: Bool
    ) throws(PatternError) -> TextPattern {
        try check(pattern)
        let elements = try LikePattern.elements(pattern, escape: escape)
        return TextPattern(LikePattern(elements, ignoresCase: isCaseInsensitive))
    }

    /// Compiles a SIMILAR TO pattern: LIKE wildcards with `| * + ? { } ( ) [ ]`, for complete
    /// texts.
    package static func similar(
        _ pattern: String, escape: Unicode.Scalar?
    ) throws(PatternError) -> TextPattern {
        try check(pattern)
        return try read(pattern, .similar(escape: escape), [])
    }

    /// Compiles a regular expression, which matches any part of a text.
    ///
    /// - Parameter flags: `i` ignores case, `m` lets `^` and `$` match at line breaks, `s` lets
    /// dots match newlines, and `x` ignores spaces and comments.
    package static func regularExpression(
        _ pattern: String, flags: String
    ) throws(PatternError) -> TextPattern {
        try check(pattern)
        var known: PatternParser.Flags = []
        for flag in flags.unicodeScalars {
            switch flag {
            case "i": known.insert(.ignoresCase)
            case "m": known.insert(.lines)
            case "s": known.insert(.dotIsAll)
            case "x": known.insert(.spaced)
            default:
                throw PatternError(
                    .invalid, "unknown flag \(flag) for a regular expression",
                    hint: "the flags are i, m, s and x")
            }
        }
        return try read(pattern, .regularExpression, known)
    }

    private static func check(_ pattern: String) throws(PatternError) {
        guard pattern.utf8.count <= PatternLimits.maximumLength else {
            throw PatternError(
                .limit, "a pattern has more than \(PatternLimits.maximumLength) bytes")
        }
    }

    private static func read(
        _ pattern: String, _ dialect: PatternParser.Dialect, _ flags: PatternParser.Flags
    ) throws(PatternError) -> TextPattern {
        var parser = PatternParser(pattern, dialect, flags)
        let node = try parser.parse()
        let ignoresCase = flags.contains(.ignoresCase)
        let (elements, isComplete) = LikePattern.elements(
            node, matchesCompleteText: parser.isSimilar)
        guard !isComplete else {
            return TextPattern(LikePattern(elements, ignoresCase: ignoresCase))
        }
        let program = try PatternProgram(
            node, sets: parser.sets, matchesCompleteText: parser.isSimilar, ignoresCase: ignoresCase
        )
        let start = LikePattern(elements + [.gap], ignoresCase: ignoresCase)
        return TextPattern(program, literalPrefix: start.literalPrefix)
    }

    private init(_ like: LikePattern) {
        machine = .like(like)
        literalPrefix = like.literalPrefix
        isPrefix = like.isPrefix
        literal = like.literal
    }

    private init(_ program: PatternProgram, literalPrefix: [UInt8]) {
        machine = .program(program)
        self.literalPrefix = literalPrefix
        isPrefix = false
        literal = nil
    }

    /// Whether a text in UTF-8 matches.
    package func matches(_ text: UnsafeRawBufferPointer) throws(PatternError) -> Bool {
        var fuel = PatternLimits.maximumFuel
        return try matches(text, fuel: &fuel)
    }

    /// Whether a text matches.
    package func matches(_ text: String) throws(PatternError) -> Bool {
        var fuel = PatternLimits.maximumFuel
        return try requireResult(text.withBytes { result(for: $0, fuel: &fuel) })
    }

    /// Whether a text in UTF-8 matches; consumes `fuel`.
    package func matches(
        _ text: UnsafeRawBufferPointer, fuel: inout Int
    ) throws(PatternError) -> Bool {
        try requireResult(result(for: text, fuel: &fuel))
    }

    private func result(for text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        switch machine {
        case .like(let pattern): pattern.matches(text, fuel: &fuel)
        case .program(let program): program.matches(text, fuel: &fuel)
        }
    }

    private func requireResult(_ result: Bool?) throws(PatternError) -> Bool {
        guard let result else {
            throw PatternError(
                .limit, "matching the pattern takes too long",
                hint: "shorter patterns and smaller numbers in { } help")
        }
        return result
    }
}
