/// Bracket expressions.
extension PatternParser {
    /// An item of a set: a scalar, which may begin a range, or character classes.
    private enum Item {
        case scalar(Unicode.Scalar), kinds(ScalarSet.Kinds)
    }

    private static let named: [(name: String, kinds: ScalarSet.Kinds)] = [
        ("alpha", .letter), ("digit", .digit), ("alnum", .letterOrDigit), ("upper", .upper),
        ("lower", .lower), ("space", .space), ("punct", .punctuation), ("word", .word),
        ("whitespace", .space),
    ]

    /// Parses the set after `[`; an initial `]` is a literal.
    mutating func parseSet(from start: Int) throws(PatternError) -> PatternNode {
        let isNegated = accept("^")
        var ranges: [ClosedRange<UInt32>] = []
        var kinds: ScalarSet.Kinds = []
        var isFirst = true
        while isFirst || !isAt("]") {
            guard current != nil else {
                throw failure("unmatched [ in the pattern", from: start)
            }
            isFirst = false
            let begin = index
            switch try parseItem() {
            case .kinds(let named): kinds.formUnion(named)
            case .scalar(let lower):
                let upper = try parseRangeEnd() ?? lower
                guard lower <= upper else {
                    throw failure("a range must not end before its start", from: begin, to: index)
                }
                ranges.append(lower.value...upper.value)
            }
        }
        index += 1
        return add(
            ScalarSet(
                ranges, kinds, isNegated: isNegated,
                ignoresCase: flags.contains(.ignoresCase)))
    }

    /// Parses the end of a range; returns nil and consumes nothing if there is none.
    private mutating func parseRangeEnd() throws(PatternError) -> Unicode.Scalar? {
        let start = index
        guard accept("-") else { return nil }
        guard current != nil, !isAt("]"), case .scalar(let upper) = try parseItem() else {
            index = start
            return nil
        }
        return upper
    }

    private mutating func parseItem() throws(PatternError) -> Item {
        let start = index
        if isAtEscape {
            index += 1
            return .scalar(try literal(escapedAt: start))
        }
        if isAt("["), let kinds = try parseName() { return .kinds(kinds) }
        guard let scalar = current else { return .kinds([]) }
        index += 1
        guard scalar == "\\", !isSimilar else { return .scalar(scalar) }
        let escape = try parseSetEscape(from: start)
        return escape.scalar.map { .scalar($0) } ?? .kinds(escape.kinds)
    }

    /// Parses a class such as `[:alpha:]`; returns nil and consumes nothing if there is none.
    private mutating func parseName() throws(PatternError) -> ScalarSet.Kinds? {
        let start = index
        guard accept("["), accept(":") else {
            index = start
            return nil
        }
        var name = ""
        while let scalar = current, ScalarSet.isWord(scalar.value), name.utf8.count < 16 {
            name.unicodeScalars.append(scalar)
            index += 1
        }
        guard accept(":"), accept("]") else {
            index = start
            return nil
        }
        let known = name.lowercased()
        guard let kinds = Self.named.first(where: { $0.name == known })?.kinds else {
            throw failure("unknown character class [:\(name):]", from: start, to: index)
        }
        return kinds
    }
}
