import SheafTestSupport

/// A pattern as a tree; the naive matcher computes all ends of a match for each start.
indirect enum PatternModel {
    case scalar(Unicode.Scalar)
    case any
    case anyButNewline
    case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
    case word
    case textStart, textEnd, lineStart, lineEnd, boundary
    case sequence([PatternModel])
    case choice([PatternModel])
    case repetition(PatternModel, Int, Int?)

    static func lower(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let lower = String(scalar).lowercased().unicodeScalars
        return lower.count == 1 ? lower.first ?? scalar : scalar
    }

    /// Returns all positions at which a match that begins at `start` can end.
    func ends(
        in text: [Unicode.Scalar], from start: Int, ignoresCase: Bool
    ) -> Set<Int> {
        let next = start < text.count ? text[start] : nil
        func one(_ accepts: (Unicode.Scalar) -> Bool) -> Set<Int> {
            next.map(accepts) == true ? [start + 1] : []
        }
        func same(_ left: Unicode.Scalar, _ right: Unicode.Scalar) -> Bool {
            left == right || ignoresCase && Self.lower(left) == Self.lower(right)
        }
        func isWord(_ index: Int) -> Bool {
            text.indices.contains(index)
                && (text[index] == "_" || text[index].properties.isAlphabetic
                    || text[index] == "\u{301}")
        }
        func zeroWidth(_ holds: Bool) -> Set<Int> { holds ? [start] : [] }
        switch self {
        case .scalar(let scalar): return one { same($0, scalar) }
        case .any: return one { _ in true }
        case .anyButNewline: return one { $0 != "\n" }
        case .word: return one { _ in isWord(start) }
        case .set(let ranges, let isNegated):
            return one { next in
                let isIn = ranges.contains { range in
                    (range.lowerBound.value...range.upperBound.value).contains {
                        Unicode.Scalar($0).map { same(next, $0) } ?? false
                    }
                }
                return isIn != isNegated
            }
        case .textStart: return zeroWidth(start == 0)
        case .textEnd: return zeroWidth(start == text.count)
        case .lineStart: return zeroWidth(start == 0 || text[start - 1] == "\n")
        case .lineEnd: return zeroWidth(start == text.count || text[start] == "\n")
        case .boundary: return zeroWidth(isWord(start - 1) != isWord(start))
        case .sequence(let parts):
            return parts.reduce([start]) { starts, part in
                Set(starts.flatMap { part.ends(in: text, from: $0, ignoresCase: ignoresCase) })
            }
        case .choice(let branches):
            return Set(
                branches.flatMap { $0.ends(in: text, from: start, ignoresCase: ignoresCase) })
        case .repetition(let part, let least, let most):
            var ends: Set<Int> = least == 0 ? [start] : []
            var reached: Set<Int> = [start]
            // More rounds than the text has positions reach no new position.
            for round in 1..<max((most ?? least + text.count + 1) + 1, 1) {
                reached = Set(
                    reached.flatMap { part.ends(in: text, from: $0, ignoresCase: ignoresCase) })
                if round >= least { ends.formUnion(reached) }
            }
            return ends
        }
    }
}

/// A generator of random patterns and of their text.
struct RandomPattern {
    enum Dialect { case like, similar, regularExpression }

    var random: SeededRandom
    let dialect: Dialect
    var escape: Unicode.Scalar?
    var areLines = false
    var dotIsAll = false

    static let alphabet: [Unicode.Scalar] = [
        "a", "b", "A", "B", "\u{E9}", "\u{C9}", "\u{301}", "\u{1F600}", "\u{212A}", "k", "\n", "_",
        "%", " ", ".", "\\",
    ]

    mutating func scalar() -> Unicode.Scalar {
        // Two scalars are preferred, so that texts often match patterns.
        Self.alphabet[
            random.chance(2, in: 3) ? random.below(2) : random.below(Self.alphabet.count)]
    }

    mutating func text() -> [Unicode.Scalar] {
        (0..<random.below(8)).map { _ in scalar() }
    }

    mutating func node(depth: Int) -> PatternModel {
        switch random.below(depth > 0 ? 14 : 6) {
        case 0...2: return .scalar(scalar())
        case 3: return dialect == .regularExpression && !dotIsAll ? .anyButNewline : .any
        case 4: return set()
        case 5: return position()
        case 6, 7:
            return .choice((0..<1 + random.below(3)).map { _ in node(depth: depth - 1) })
        case 8, 9: return repetition(depth: depth)
        default: return .sequence((0..<random.below(4)).map { _ in node(depth: depth - 1) })
        }
    }

    private mutating func set() -> PatternModel {
        let ranges = (0..<1 + random.below(3)).map { _ in
            let ranges: [ClosedRange<Unicode.Scalar>] = ["a"..."b", "A"..."Z", "\u{E0}"..."\u{EF}"]
            let one = scalar()
            return random.chance(1, in: 2) ? ranges[random.below(3)] : one...one
        }
        return .set(ranges, isNegated: random.chance(1, in: 3))
    }

    private mutating func position() -> PatternModel {
        guard dialect == .regularExpression else { return .repetition(.any, 0, nil) }
        switch random.below(4) {
        case 0: return areLines ? .lineStart : .textStart
        case 1: return areLines ? .lineEnd : .textEnd
        case 2: return .boundary
        default: return .word
        }
    }

    private mutating func repetition(depth: Int) -> PatternModel {
        let part = node(depth: depth - 1)
        let least = random.below(3)
        return .repetition(part, least, random.chance(1, in: 2) ? nil : least + random.below(3))
    }

    mutating func write(_ node: PatternModel) -> String {
        let isRegular = dialect == .regularExpression
        switch node {
        case .scalar(let scalar): return write(scalar)
        case .any: return isRegular ? "." : "_"
        case .anyButNewline: return "."
        case .word: return "\\w"
        case .textStart: return random.chance(1, in: 2) && !areLines ? "^" : "\\A"
        case .textEnd: return random.chance(1, in: 2) && !areLines ? "$" : "\\z"
        case .lineStart: return "^"
        case .lineEnd: return "$"
        case .boundary: return "\\b"
        case .set(let ranges, let isNegated):
            let items = ranges.map { range in
                range.lowerBound == range.upperBound
                    ? writeInSet(range.lowerBound)
                    : "\(range.lowerBound)-\(range.upperBound)"
            }
            return "[" + (isNegated ? "^" : "") + items.joined() + "]"
        case .sequence(let parts): return group(parts.map { write($0) }.joined())
        case .choice(let branches): return group(branches.map { write($0) }.joined(separator: "|"))
        case .repetition(.any, 0, nil) where !isRegular: return "%"
        case .repetition(let part, let least, let most):
            let lazy = isRegular && random.chance(1, in: 3) ? "?" : ""
            return group(write(part)) + count(least, most) + lazy
        }
    }

    private mutating func count(_ least: Int, _ most: Int?) -> String {
        switch (least, most) {
        case (0, nil) where random.chance(2, in: 3): "*"
        case (1, nil) where random.chance(2, in: 3): "+"
        case (0, 1) where random.chance(2, in: 3): "?"
        case (_, nil): "{\(least),}"
        case (_, let most?) where most == least: "{\(least)}"
        case (_, let most?): "{\(least),\(most)}"
        }
    }

    private mutating func group(_ inner: String) -> String {
        guard dialect == .regularExpression else { return "(\(inner))" }
        return ["(", "(?:", "(?<name>"][random.below(3)] + inner + ")"
    }

    private func write(_ scalar: Unicode.Scalar) -> String {
        if dialect == .regularExpression {
            return scalar == "." || scalar == "\\" ? "\\\(scalar)" : String(scalar)
        }
        guard let escape else { return String(scalar) }
        return scalar == "%" || scalar == "_" || scalar == escape
            ? "\(escape)\(scalar)" : String(scalar)
    }

    private func writeInSet(_ scalar: Unicode.Scalar) -> String {
        let escape: Unicode.Scalar? = dialect == .regularExpression ? "\\" : escape
        return scalar == escape ? "\(scalar)\(scalar)" : String(scalar)
    }
}
