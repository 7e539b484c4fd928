/// A pattern that texts are held against: of LIKE, ILIKE, SIMILAR TO, or a regular expression.
///
/// Matching never goes back in the text. What it costs is counted, and a search that is out of
/// fuel ends with an error; what LIKE asks for without `_` between two `%` never is, nor are
/// patterns of a few hundred states in texts of a few hundred thousand bytes.
package struct TextPattern: Sendable {
    private enum Machine {
        case like(LikePattern), program(PatternProgram)
    }

    private let machine: Machine
    /// The bytes that each text begins with that is accepted.
    package let literalPrefix: [UInt8]
    /// True where the texts that begin with the prefix are accepted, and no others.
    package let isPrefix: Bool
    /// The one text that is accepted; nil where there may be others.
    package let literal: [UInt8]?

    /// `%` is any text, `_` any scalar; what follows `escape` stands for itself.
    ///
    /// As in SQL nothing is an escape, a backslash neither, unless it is named.
    package static func like(
        _ pattern: String, escape: Unicode.Scalar?, isCaseInsensitive: Bool
    ) throws(QueryError) -> TextPattern {
        try check(pattern)
        let elements = try LikePattern.elements(pattern, escape: escape)
        return TextPattern(LikePattern(elements, ignoresCase: isCaseInsensitive))
    }

    /// The wildcards of LIKE with `| * + ? { } ( ) [ ]`, for the whole text.
    package static func similar(
        _ pattern: String, escape: Unicode.Scalar?
    ) throws(QueryError) -> TextPattern {
        try check(pattern)
        return try read(pattern, .similar(escape: escape), [])
    }

    /// A regular expression that is true of a text if it is of any part of it.
    ///
    /// - Parameter flags: `i` for any case, `m` for `^` and `$` at lines, `s` for dots that are
    ///   newlines, too, `x` for patterns with spaces and comments.
    package static func regularExpression(
        _ pattern: String, flags: String
    ) throws(QueryError) -> TextPattern {
        try check(pattern)
        var known: PatternParser.Flags = []
        for flag in flags.unicodeScalars {
            switch flag {
            case "i": known.insert(.ignoresCase)
            case "m": known.insert(.lines)
            case "s": known.insert(.dotIsAll)
            case "x": known.insert(.spaced)
            default:
                throw QueryError(
                    .argument, "\(flag) is no flag of regular expressions",
                    hint: "they are i, m, s and x")
            }
        }
        return try read(pattern, .regularExpression, known)
    }

    private static func check(_ pattern: String) throws(QueryError) {
        guard pattern.utf8.count <= PatternLimits.maximumLength else {
            throw QueryError(
                .limit, "a pattern of more than \(PatternLimits.maximumLength) bytes")
        }
    }

    private static func read(
        _ pattern: String, _ dialect: PatternParser.Dialect, _ flags: PatternParser.Flags
    ) throws(QueryError) -> TextPattern {
        var parser = PatternParser(pattern, dialect, flags)
        let node = try parser.parse()
        let ignoresCase = flags.contains(.ignoresCase)
        let (elements, isComplete) = LikePattern.elements(node, takesWhole: parser.isSimilar)
        guard !isComplete else {
            return TextPattern(LikePattern(elements, ignoresCase: ignoresCase))
        }
        let program = try PatternProgram(
            node, sets: parser.sets, takesWhole: parser.isSimilar, ignoresCase: ignoresCase)
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

    // MARK: Matching

    /// True where the pattern accepts these bytes of UTF-8.
    package func matches(_ text: UnsafeRawBufferPointer) throws(QueryError) -> Bool {
        var fuel = PatternLimits.maximumFuel
        return try matches(text, fuel: &fuel)
    }

    /// True where the pattern accepts this text.
    package func matches(_ text: String) throws(QueryError) -> Bool {
        var fuel = PatternLimits.maximumFuel
        return try known(text.withBytes { result(for: $0, fuel: &fuel) })
    }

    /// True where the pattern accepts these bytes; takes what that costs from `fuel`.
    package func matches(
        _ text: UnsafeRawBufferPointer, fuel: inout Int
    ) throws(QueryError) -> Bool {
        try known(result(for: text, fuel: &fuel))
    }

    private func result(for text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        switch machine {
        case .like(let pattern): pattern.matches(text, fuel: &fuel)
        case .program(let program): program.matches(text, fuel: &fuel)
        }
    }

    private func known(_ result: Bool?) throws(QueryError) -> Bool {
        guard let result else {
            throw QueryError(
                .limit, "a pattern takes too long for a text",
                hint: "shorter patterns and smaller numbers in { } help")
        }
        return result
    }
}
