import SheafDocument
import SheafQuery
import SheafTestSupport

/// A generator of random syntax trees that statements can express.
struct RandomTree {
    var random: SeededRandom
    private static let nowhere = SourceRange(0, 0)
    private static let names = [
        "a", "b1", "_id", "count", "select", "order", "from", "total", "a b", "it's", "`", "", "é",
        "1a", "index", "list", "both", "null", "Missing", "\n", "e\u{301}", "\\",
    ]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed, "tree")
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[random.below(elements.count)]
    }

    mutating func list<Element>(
        _ counts: ClosedRange<Int>, _ element: (inout RandomTree) -> Element
    ) -> [Element] {
        let count = counts.lowerBound + random.below(counts.count)
        return (0..<count).map { _ in element(&self) }
    }

    mutating func maybe<Element>(_ element: (inout RandomTree) -> Element) -> Element? {
        random.chance(1, in: 3) ? element(&self) : nil
    }

    mutating func word() -> String { pick(Self.names) }
    mutating func name() -> Name { Name(word(), at: Self.nowhere) }
    mutating func path() -> Path { Path(list(1...3) { $0.word() }, at: Self.nowhere) }

    mutating func value() -> Value {
        switch random.below(7) {
        case 0: .null
        case 1: .bool(random.chance(1, in: 2))
        case 2: .integer(pick([0, 1, -1, .max, .min, 42]))
        case 3:
            .float(
                pick([
                    0, -0.0, 1.5, -2.5, 1e300, Double.leastNonzeroMagnitude, 0.1,
                    .greatestFiniteMagnitude,
                ]))
        default: .string(word() + pick(["", "'", "\"", "\\", "\0", "\u{1F}", "😀", "--", "*/"]))
        }
    }

    mutating func expression(_ depth: Int) -> Expression {
        Expression(depth == 0 ? leaf() : node(depth - 1), at: Self.nowhere)
    }

    private mutating func leaf() -> Expression.Node {
        switch random.below(5) {
        case 0: .literal(value())
        case 1: .missing
        case 2: .parameter(pick(["a", "b", "from", "_1", "$1", "$12"]))
        case 3: .call(Call("count", [], isStar: true))
        default: .path(path().names)
        }
    }

    private mutating func node(_ depth: Int) -> Expression.Node {
        switch random.below(17) {
        case 0: leaf()
        case 1: .array(list(0...3) { $0.expression(depth) })
        case 2: .object(list(0...3) { ObjectField($0.word(), $0.expression(depth)) })
        case 3: .negate(expression(depth))
        case 4: .not(expression(depth))
        case 5, 6: arithmetic(depth)
        case 7: .and(list(2...4) { $0.expression(depth) })
        case 8 where coin(): .xor(list(2...4) { $0.expression(depth) })
        case 8: .or(list(2...4) { $0.expression(depth) })
        case 9: question(depth)
        case 10: .test(pick([.null, .missing, .yes, .no]), expression(depth), isNegated: coin())
        case 11:
            .pattern(
                Pattern(
                    pick([.like, .caseInsensitiveLike, .similar]), expression(depth),
                    expression(depth), escape: maybe { $0.expression(depth) }, isNegated: coin()))
        case 12:
            .conditional(
                Conditional(
                    subject: maybe { $0.expression(depth) },
                    branches: list(1...3) {
                        Conditional.Branch(
                            when: $0.expression(depth), then: $0.expression(depth))
                    }, otherwise: maybe { $0.expression(depth) }))
        case 13: call(depth)
        case 14: .cast(expression(depth), pick(CastType.allCases))
        case 15:
            .quantified(
                Quantified(
                    pick([.any, .every, .anyAndEvery]), list(1...2) { $0.binding(depth) },
                    satisfies: expression(depth)))
        default:
            .comprehension(
                Comprehension(
                    key: maybe { $0.expression(depth) }, element: expression(depth),
                    bindings: list(1...2) { $0.binding(depth) },
                    when: maybe { $0.expression(depth) }))
        }
    }

    mutating func coin() -> Bool { random.chance(1, in: 2) }

    private mutating func arithmetic(_ depth: Int) -> Expression.Node {
        let operations: [ArithmeticOperator] = pick([
            [.add, .subtract], [.multiply, .divide, .remainder], [.concatenate],
        ])
        return .arithmetic(
            expression(depth),
            list(1...3) { ArithmeticStep($0.pick(operations), $0.expression(depth)) })
    }

    private mutating func question(_ depth: Int) -> Expression.Node {
        switch random.below(3) {
        case 0:
            .comparison(
                pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]),
                expression(depth), expression(depth))
        case 1:
            .between(
                expression(depth), low: expression(depth), high: expression(depth),
                isNegated: coin())
        default:
            // A parenthesis after IN begins a list, so any other right operand is a leaf.
            .membership(
                expression(depth),
                of: coin()
                    ? Expression(.array(list(1...3) { $0.expression(depth) }), at: Self.nowhere)
                    : expression(0), isNegated: coin())
        }
    }

    private mutating func call(_ depth: Int) -> Expression.Node {
        switch random.below(4) {
        case 0: .call(Call("count", [expression(depth)], isDistinct: true))
        case 1: .call(Call(pick(["trim", "ltrim"]), list(1...2) { $0.expression(depth) }))
        default:
            .call(
                Call(
                    pick(["lower", "pos", "coalesce", "left", "index"]),
                    list(0...3) { $0.expression(depth) }))
        }
    }

    private mutating func binding(_ depth: Int) -> Binding {
        Binding(word(), in: expression(depth), isDeep: coin())
    }
}
