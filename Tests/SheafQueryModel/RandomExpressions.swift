import SheafDocument
import SheafQuery
import SheafTestSupport

/// A generator of random expressions over the fields of some sources.
struct RandomExpressions {
    /// The form of values in statements.
    enum Writing {
        case literals, parameters, either
    }

    var values: RandomValues
    /// The form of values, which does not affect the draws.
    var writing = Writing.either
    /// The values of the parameters drawn so far.
    var arguments: [String: Value] = [:]
    /// The names of the sources, with which paths begin if there are several.
    var sources: [String] = ["t"]
    private var variables: [String] = []

    static let nowhere = SourceRange(0, 0)
    private static let functions: [(String, Int)] = [
        ("coalesce", 2), ("ifmissing", 2), ("ifnull", 2), ("nvl", 2), ("ismissing", 1),
        ("isnull", 1), ("ismissingornull", 1), ("nullif", 2), ("missingif", 2), ("decode", 4),
        ("type", 1), ("json_type", 1), ("is_boolean", 1), ("is_number", 1), ("is_string", 1),
        ("object_keys", 1), ("object_values", 1), ("object_length", 1), ("object_unset", 2),
        ("object_concat", 2), ("array_contains", 2), ("array_length", 1), ("abs", 1), ("ceil", 1),
        ("floor", 1), ("round", 1), ("sign", 1), ("lower", 1), ("upper", 1), ("substr", 2),
        ("pos", 2), ("char_length", 1), ("contains", 2), ("starts_with", 2), ("ends_with", 2),
        ("concat", 2), ("trim", 1), ("replace", 3), ("split", 2), ("date_part", 2),
        ("date_add", 3), ("array_contains_null", 1),
    ]
    private static let patterns: [Value] = [
        "a%", "%b", "a_", "%", "", "a", "ab%c", "_", "a\\%", "%a%b%", "\u{E9}%", "a\0%", "long%",
    ]

    init(seed: UInt64) {
        values = RandomValues(seed: seed)
    }

    mutating func below(_ bound: Int) -> Int { values.random.below(bound) }
    mutating func chance(_ numerator: Int, in denominator: Int) -> Bool {
        values.random.chance(numerator, in: denominator)
    }
    mutating func coin() -> Bool { chance(1, in: 2) }
    mutating func pick<Element>(_ elements: [Element]) -> Element { values.pick(elements) }

    mutating func list<Element>(
        _ counts: ClosedRange<Int>, _ element: (inout RandomExpressions) -> Element
    ) -> [Element] {
        let count = counts.lowerBound + below(counts.count)
        return (0..<count).map { _ in element(&self) }
    }

    // MARK: Values

    /// Returns a value as a literal or as a parameter.
    mutating func literal(_ value: Value) -> Expression {
        var isWritten: Bool =
            switch value {
            case .bytes: false
            case .array, .object: chance(1, in: 3)
            default: chance(7, in: 8)
            }
        switch writing {
        case .either: break
        case .literals: isWritten = !Self.hasBytes(value)
        case .parameters: isWritten = false
        }
        guard !isWritten else { return Expression(.literal(value), at: Self.nowhere) }
        let name = "p\(arguments.count)"
        arguments[name] = value
        return Expression(.parameter(name), at: Self.nowhere)
    }

    private static func hasBytes(_ value: Value) -> Bool {
        switch value {
        case .bytes: true
        case .array(let values): values.contains(where: hasBytes)
        case .object(let object): object.contains { hasBytes($0.value) }
        default: false
        }
    }

    /// Returns a path to a field or a variable.
    mutating func path() -> Expression {
        if let variable = variables.last, chance(2, in: 3) {
            return Expression(.path([variable] + (coin() ? [] : ["x"])), at: Self.nowhere)
        }
        let path = below(3) == 0 ? pick(RandomValues.paths) : pick([["a"], ["b"], ["s"], ["_id"]])
        return field(path)
    }

    /// Returns a field of one of the sources.
    mutating func field(_ path: [String], of source: String? = nil) -> Expression {
        let isQualified = sources.count > 1 || chance(1, in: 10)
        let prefix = isQualified ? [source ?? pick(sources)] : []
        return Expression(.path(prefix + path), at: Self.nowhere)
    }

    mutating func expression(_ depth: Int) -> Expression {
        guard depth > 0 else {
            switch below(8) {
            case 0..<5: return path()
            case 5: return Expression(.missing, at: Self.nowhere)
            default: return literal(values.value())
            }
        }
        switch below(16) {
        case 0..<4: return path()
        case 4: return literal(values.value())
        case 5, 6: return Expression(arithmetic(depth - 1), at: Self.nowhere)
        case 7..<10: return Expression(.call(call(depth - 1)), at: Self.nowhere)
        case 10: return Expression(conditional(depth - 1), at: Self.nowhere)
        case 11:
            return Expression(
                .cast(expression(depth - 1), pick(CastType.allCases)), at: Self.nowhere)
        case 12:
            return Expression(.array(list(0...3) { $0.expression(depth - 1) }), at: Self.nowhere)
        case 13:
            return Expression(
                .object(
                    list(0...2) { ObjectField($0.pick(["x", "y"]), $0.expression(depth - 1)) }),
                at: Self.nowhere)
        case 14: return comprehension(depth - 1)
        default: return condition(depth - 1)
        }
    }

    private mutating func arithmetic(_ depth: Int) -> Expression.Node {
        if below(6) == 0 { return .negate(path()) }
        let operations: [ArithmeticOperator] = pick([
            [.add, .subtract], [.multiply, .divide, .remainder], [.concatenate],
            [.shiftLeft, .shiftRight],
        ])
        return .arithmetic(
            expression(depth),
            list(1...2) { ArithmeticStep($0.pick(operations), $0.expression(depth)) })
    }

    private mutating func call(_ depth: Int) -> Call {
        let (name, count) = pick(Self.functions)
        var arguments = list(count...count) { $0.expression(depth) }
        if name == "date_part" { arguments[1] = literal("year") }
        if name == "date_add" {
            arguments[1] = literal("day")
            if coin() { arguments.swapAt(1, 2) }
        }
        return Call(name, arguments)
    }

    private mutating func conditional(_ depth: Int) -> Expression.Node {
        let hasSubject = coin()
        return .conditional(
            Conditional(
                subject: hasSubject ? expression(depth) : nil,
                branches: list(1...2) {
                    Conditional.Branch(
                        when: hasSubject ? $0.expression(depth) : $0.condition(depth),
                        then: $0.expression(depth))
                }, otherwise: coin() ? expression(depth) : nil))
    }

    private mutating func comprehension(_ depth: Int) -> Expression {
        let (bindings, outer) = bind()
        let isObject = chance(1, in: 4)
        let node = Expression.Node.comprehension(
            Comprehension(
                key: isObject ? expression(0) : nil, element: expression(depth),
                bindings: bindings, when: coin() ? condition(min(depth, 1)) : nil))
        variables = outer
        return Expression(node, at: Self.nowhere)
    }

    private mutating func bind() -> ([Binding], outer: [String]) {
        let outer = variables
        let name = "v\(variables.count)"
        let source = coin() ? field(["l"]) : expression(0)
        variables.append(name)
        return ([Binding(name, in: source, isDeep: chance(1, in: 4))], outer)
    }

    // MARK: Conditions

    mutating func condition(_ depth: Int) -> Expression {
        guard depth > 0, chance(2, in: 3) else {
            return Expression(predicate(depth), at: Self.nowhere)
        }
        let node: Expression.Node =
            switch below(8) {
            case 7: .xor(list(2...3) { $0.condition(depth - 1) })
            case 0, 1, 2: .and(list(2...3) { $0.condition(depth - 1) })
            case 3, 4, 5: .or(list(2...3) { $0.condition(depth - 1) })
            default: .not(condition(depth - 1))
            }
        return Expression(node, at: Self.nowhere)
    }

    /// Returns a predicate, mostly one that compares a field with a constant.
    private mutating func predicate(_ depth: Int) -> Expression.Node {
        let subject = chance(5, in: 6) ? path() : expression(min(depth, 2))
        switch below(20) {
        case 0..<9:
            let other = chance(7, in: 8) ? literal(valueBeside(subject)) : expression(min(depth, 1))
            let operation: ComparisonOperator = pick([
                .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
            ])
            return coin() || coin()
                ? .comparison(operation, subject, other) : .comparison(operation, other, subject)
        case 9, 10:
            return .between(
                subject, low: literal(valueBeside(subject)), high: literal(valueBeside(subject)),
                isNegated: chance(1, in: 3))
        case 11, 12, 13:
            var elements: [Expression] = []
            for _ in 0...below(4) {
                elements.append(
                    chance(1, in: 12) ? expression(0) : literal(valueBeside(subject)))
            }
            let inList = chance(3, in: 4)
            let list = Expression(.array(elements), at: Self.nowhere)
            return .membership(
                subject,
                of: inList
                    ? list : coin() ? field(["l"]) : literal(pick([[1, "a"], [], 1, [1, 2]])),
                isNegated: chance(1, in: 3))
        case 14, 15:
            return .test(pick([.null, .missing, .yes, .no]), subject, isNegated: coin())
        case 16, 17: return .pattern(pattern(subject))
        case 18:
            let (bindings, outer) = bind()
            let condition = condition(min(depth, 1))
            variables = outer
            return .quantified(
                Quantified(pick([.any, .every, .anyAndEvery]), bindings, satisfies: condition))
        default:
            return coin()
                ? subject.node : .call(Call("starts_with", [subject, literal(values.text())]))
        }
    }

    mutating func valueBeside(_ subject: Expression) -> Value {
        guard case .path(let path) = subject.node, chance(3, in: 4) else { return values.value() }
        switch path.last {
        case "_id": return values.id()
        case "s": return values.text()
        case "b", "x": return values.number()
        case "a": return .integer(Int64(below(6)))
        default: return values.value(isLong: chance(1, in: 10))
        }
    }

    private mutating func pattern(_ subject: Expression) -> Pattern {
        var escape: Expression?
        if chance(1, in: 4) { escape = literal("\\") }
        return Pattern(
            pick([.like, .like, .like, .caseInsensitiveLike, .similar]), subject,
            literal(pick(Self.patterns)), escape: escape, isNegated: chance(1, in: 3))
    }
}
