import SheafDocument

/// Random conditions, mostly comparing a field with a plausible value.
extension DualExpressionMaker {
    mutating func condition(_ depth: Int) -> DualExpression {
        guard depth > 0, chance(2, in: 3) else { return predicate(depth) }
        switch below(7) {
        case 0, 1, 2: return .all(list(2...3) { $0.condition(depth - 1) })
        case 3, 4, 5: return .any(list(2...3) { $0.condition(depth - 1) })
        default: return .not(condition(depth - 1))
        }
    }

    private mutating func predicate(_ depth: Int) -> DualExpression {
        switch below(16) {
        case 0..<6: return comparison(depth)
        case 6, 7:
            let (subject, field) = drawSubject()
            return .between(
                subject, beside(field, depth), beside(field, depth), isNegated: chance(1, in: 3))
        case 8, 9:
            let (subject, field) = drawSubject()
            // SQLite stores booleans as integers, which would equal numbers.
            let elements = list(0...3) { maker in maker.beside(field, min(depth, 1)) }
                .filter { ($0.kind == .boolean) == (subject.kind == .boolean) }
            return .membership(
                subject, elements + [literal(for: field)], isNegated: chance(1, in: 3))
        case 10, 11:
            let operand = chance(3, in: 4) ? field(pick(Schema.all)) : value(min(depth, 1))
            return .test(
                operand.kind == .boolean
                    ? pick([.null, .missing, .yes, .no]) : pick([.null, .missing]), operand,
                isNegated: coin())
        case 12, 13: return pattern(depth)
        case 14:
            let name = pick(["starts_with", "contains", "ends_with", "starts_with"])
            return .search(name, text(min(depth, 1)), text(0))
        default:
            if coin() { return field(Schema.field("f")) }
            return .question(
                pick(["ismissing", "isnull", "ismissingornull"]), value(min(depth, 1)))
        }
    }

    private mutating func comparison(_ depth: Int) -> DualExpression {
        let operation = pick(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
        if chance(1, in: 6) {
            let isText = coin()
            let (left, right) =
                isText
                ? (text(min(depth, 2)), text(min(depth, 1)))
                : (number(min(depth, 2)), number(min(depth, 1)))
            return .comparison(operation, left, right)
        }
        let (subject, field) = drawSubject()
        let other = beside(field, depth)
        return coin() || coin()
            ? .comparison(operation, subject, other) : .comparison(operation, other, subject)
    }

    private mutating func drawSubject() -> (DualExpression, Field) {
        let field = pick(Schema.all + [Schema.field("a"), Schema.field("s"), Schema.field("b")])
        return (self.field(field), field)
    }

    /// Returns an operand for comparison, mostly a literal from the field's values.
    private mutating func beside(_ field: Field, _ depth: Int) -> DualExpression {
        switch below(20) {
        case 0: value(min(depth, 1))
        case 1: self.field(pick(Schema.all))
        case 2: literal(.null)
        case 3: literal(for: pick(Schema.fields))
        default: literal(for: field)
        }
    }

    private static let patterns: [Value] = [
        "a%", "%b", "a_", "%", "", "a", "ab%c", "_", "a\\%", "%a%b%", "\u{E9}%", "_\u{301}", "__",
        "B%", "A%", "%'%", "% %", "a\\_b", "\\%", "a%b%", "%%a", "_%_",
    ]

    private mutating func pattern(_ depth: Int) -> DualExpression {
        let subject = text(min(depth, 1))
        let pattern = chance(1, in: 8) ? text(0) : literal(pick(Self.patterns))
        let isNegated = chance(1, in: 3)
        // An ESCAPE clause requires a literal pattern that does not end with the escape character.
        if pattern.isConstant, pattern.kind == .text, !pattern.value.hasSuffix("\\'"), coin() {
            return .like(
                subject, pattern, escape: literal("\\"), ignoresCase: false, isNegated: isNegated)
        }
        let isASCII =
            subject.taken(as: .text).limits.isASCII && pattern.taken(as: .text).limits.isASCII
        return .like(
            subject, pattern, escape: nil, ignoresCase: isASCII && chance(1, in: 4),
            isNegated: isNegated)
    }
}
