/// Sets of scalars in brackets.
extension PatternParser {
    /// One thing of a set: a scalar that a range may begin with, or kinds of scalars.
    private enum Item {
        case scalar(Unicode.Scalar), kinds(ScalarSet.Kinds)
    }

    private static let named: [(name: String, kinds: ScalarSet.Kinds)] = [
        ("alpha", .letter), ("digit", .digit), ("alnum", .letterOrDigit), ("upper", .upper),
        ("lower", .lower), ("space", .space), ("punct", .punctuation), ("word", .word),
        ("whitespace", .space),
    ]

    /// What follows `[`; a `]` that comes first stands for itself.
    mutating func parseSet(from start: Int) throws(QueryError) -> PatternNode {
        let isNegated = accept("^")
        var ranges: [ClosedRange<UInt32>] = []
        var kinds: ScalarSet.Kinds = []
        var isFirst = true
        while isFirst || !isAt("]") {
            guard current != nil else {
                throw failure("a [ without its ] in the pattern", from: start)
            }
            isFirst = false
            let place = index
            switch try parseItem() {
            case .kinds(let named): kinds.formUnion(named)
            case .scalar(let lower):
                let upper = try parseRangeEnd() ?? lower
                guard lower <= upper else {
                    throw failure("a range from its end to its start", from: place, to: index)
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

    /// What a range ends with; nil, and nothing read, where a hyphen is missing or one itself.
    private mutating func parseRangeEnd() throws(QueryError) -> Unicode.Scalar? {
        let start = index
        guard accept("-") else { return nil }
        guard current != nil, !isAt("]"), case .scalar(let upper) = try parseItem() else {
            index = start
            return nil
        }
        return upper
    }

    private mutating func parseItem() throws(QueryError) -> Item {
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

    /// `[:alpha:]`; nil, and nothing read, where no such thing stands here.
    private mutating func parseName() throws(QueryError) -> ScalarSet.Kinds? {
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
            throw failure("[:\(name):] is no set of characters", from: start, to: index)
        }
        return kinds
    }
}
