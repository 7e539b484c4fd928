/// A parser of regular expressions and of the patterns of SIMILAR TO.
struct PatternParser {
    enum Dialect {
        case regularExpression, similar(escape: Unicode.Scalar?)
    }

    /// The flags of a regular expression.
    struct Flags: OptionSet {
        let rawValue: UInt8
        /// `i`: case-insensitive.
        static let ignoresCase = Flags(rawValue: 1)
        /// `m`: `^` and `$` also match at line breaks.
        static let lines = Flags(rawValue: 2)
        /// `s`: a dot also matches newlines.
        static let dotIsAll = Flags(rawValue: 4)
        /// `x`: spaces and comments are ignored.
        static let spaced = Flags(rawValue: 8)
    }

    let pattern: String
    let dialect: Dialect
    let flags: Flags
    let scalars: [Unicode.Scalar]
    var index = 0
    var sets: [ScalarSet] = []
    private var depth = 0

    init(_ pattern: String, _ dialect: Dialect, _ flags: Flags) {
        self.pattern = pattern
        self.dialect = dialect
        self.flags = flags
        scalars = Array(pattern.unicodeScalars)
    }

    /// Parses the complete pattern.
    mutating func parse() throws(PatternError) -> PatternNode {
        let node = try parseChoice()
        guard index == scalars.count else {
            throw failure("unmatched ) in the pattern", from: index)
        }
        return node
    }

    // MARK: Reading

    var isSimilar: Bool {
        if case .similar = dialect { true } else { false }
    }

    /// The next scalar; nil at the end.
    var current: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    /// Whether the next scalar is the escape character of SIMILAR TO.
    var isAtEscape: Bool {
        guard case .similar(let escape?) = dialect else { return false }
        return current == escape
    }

    /// Whether `scalar` is next and not an escape character.
    func isAt(_ scalar: Unicode.Scalar) -> Bool { current == scalar && !isAtEscape }

    /// Consumes `scalar` if it is next; returns whether it was.
    mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
        guard isAt(scalar) else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        guard flags.contains(.spaced) else { return }
        var isComment = false
        while let scalar = current {
            if scalar == "#" { isComment = true }
            if scalar == "\n" { isComment = false }
            guard isComment || scalar.properties.isWhitespace else { return }
            index += 1
        }
    }

    /// Returns an error for the scalars from `start` to `end`, by default a single one.
    func failure(
        _ message: String, from start: Int, to end: Int? = nil,
        kind: PatternError.Kind = .invalid
    ) -> PatternError {
        func offset(_ index: Int) -> Int {
            scalars.prefix(index).reduce(0) { $0 + UTF8.width($1) }
        }
        let range = offset(start)..<offset(end ?? start + 1)
        return PatternError(
            kind, message, part: PatternError.Part(pattern: pattern, range: range))
    }

    /// Returns the error for an escape character at the end of a pattern.
    static func danglingEscape(at range: Range<Int>, in pattern: String) -> PatternError {
        PatternError(
            .invalid, "nothing to escape at the end of the pattern",
            part: PatternError.Part(pattern: pattern, range: range))
    }

    // MARK: Choices and sequences

    private mutating func parseChoice() throws(PatternError) -> PatternNode {
        var branches = [try parseSequence()]
        while accept("|") { branches.append(try parseSequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func parseSequence() throws(PatternError) -> PatternNode {
        var nodes: [PatternNode] = []
        skipSpace()
        while current != nil, !isAt("|"), !isAt(")") {
            nodes.append(try parseRepetition())
            skipSpace()
        }
        return nodes.count == 1 ? nodes[0] : .sequence(nodes)
    }

    private mutating func parseRepetition() throws(PatternError) -> PatternNode {
        let node = try parseAtom()
        skipSpace()
        guard let (least, most) = try parseQuantifier() else { return node }
        skipSpace()
        // Lazy repetitions match the same texts.
        if !isSimilar { _ = accept("?") }
        skipSpace()
        let second = index
        if try parseQuantifier() != nil {
            throw failure(
                "a repetition cannot be repeated without parentheses", from: second, to: index)
        }
        return .repetition(node, least: least, most: most)
    }

    // MARK: Quantifiers

    /// Parses a quantifier; returns nil and consumes nothing if there is none.
    private mutating func parseQuantifier() throws(PatternError) -> (least: Int, most: Int?)? {
        if accept("*") { return (0, nil) }
        if accept("+") { return (1, nil) }
        if accept("?") { return (0, 1) }
        guard isAt("{") else { return nil }
        let start = index
        index += 1
        if let least = try parseCount() {
            if accept("}") { return (least, least) }
            if accept(",") {
                if accept("}") { return (least, nil) }
                if let most = try parseCount(), accept("}") {
                    guard least <= most else {
                        throw failure(
                            "a repetition of at least \(least) and at most \(most)", from: start,
                            to: index)
                    }
                    return (least, most)
                }
            }
        }
        guard isSimilar else {
            // As in other dialects, a brace without a count is a literal.
            index = start
            return nil
        }
        throw failure("expected {n}, {n,} or {n,m} in the pattern", from: start)
    }

    private mutating func parseCount() throws(PatternError) -> Int? {
        let start = index
        var count = 0
        while let digit = current, "0"..."9" ~= digit, !isAtEscape {
            count = min(count * 10 + Int(digit.value - 0x30), PatternLimits.maximumStates + 1)
            index += 1
        }
        guard count <= PatternLimits.maximumStates else {
            throw failure(
                "a repetition of more than \(PatternLimits.maximumStates) times", from: start,
                to: index, kind: .limit)
        }
        return index == start ? nil : count
    }

    // MARK: Atoms

    private mutating func parseAtom() throws(PatternError) -> PatternNode {
        let start = index
        if try parseQuantifier() != nil {
            throw failure("nothing to repeat in the pattern", from: start, to: index)
        }
        if isAtEscape {
            index += 1
            return .scalar(try literal(escapedAt: start).value)
        }
        guard let scalar = current else { return .sequence([]) }
        index += 1
        switch (scalar, isSimilar) {
        case ("(", _): return try parseGroup(from: start)
        case ("[", _): return try parseSet(from: start)
        case ("%", true): return .anything
        case ("_", true): return .any
        case (".", false): return flags.contains(.dotIsAll) ? .any : .anyButNewline
        case ("^", false): return .assertion(flags.contains(.lines) ? .lineStart : .textStart)
        case ("$", false): return .assertion(flags.contains(.lines) ? .lineEnd : .textEnd)
        case ("\\", false): return try parseEscape(from: start)
        default: return .scalar(scalar.value)
        }
    }

    /// Returns the scalar after the escape character at `start`.
    mutating func literal(escapedAt start: Int) throws(PatternError) -> Unicode.Scalar {
        guard let scalar = current else {
            throw failure("nothing to escape at the end of the pattern", from: start)
        }
        index += 1
        return scalar
    }

    private mutating func parseGroup(from start: Int) throws(PatternError) -> PatternNode {
        guard depth < PatternLimits.maximumDepth else {
            throw failure(
                "groups are nested deeper than the limit of \(PatternLimits.maximumDepth)",
                from: start, kind: .limit)
        }
        depth += 1
        if !isSimilar, accept("?") { try parseGroupHead(from: start) }
        let node = try parseChoice()
        guard accept(")") else {
            throw failure("unmatched ( in the pattern", from: start)
        }
        depth -= 1
        return node
    }

    /// Parses the head of a group after `(?`: a colon or a name.
    private mutating func parseGroupHead(from start: Int) throws(PatternError) {
        if accept(":") { return }
        let hasP = accept("P")
        if accept("<"), !isAt("="), !isAt("!") {
            let name = index
            while let scalar = current, ScalarSet.isWord(scalar.value) { index += 1 }
            guard index > name, accept(">") else {
                throw failure("expected the name of a group and >", from: name)
            }
            return
        }
        if isAt("=") || isAt("!") {
            let what = hasP ? "backreferences" : "lookahead and lookbehind"
            throw failure("\(what) are not supported in patterns", from: start, to: index + 1)
        }
        throw failure("expected (?: or (?<name> in the pattern", from: start, to: index + 1)
    }
}
