import SheafDocument
import SheafTestSupport

/// A generator of random expressions that both languages support.
struct DualExpressionMaker {
    var random: SeededRandom
    /// The names or aliases of the sources.
    var sources: [String] = ["t"]
    /// The arguments of the generated parameters.
    var arguments: [String: Value] = [:]

    init(seed: UInt64, _ name: StaticString) {
        random = SeededRandom(seed: seed, name)
    }

    mutating func below(_ bound: Int) -> Int { random.below(bound) }
    mutating func chance(_ numerator: Int, in denominator: Int) -> Bool {
        random.chance(numerator, in: denominator)
    }
    mutating func coin() -> Bool { chance(1, in: 2) }
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[random.below(elements.count)]
    }

    mutating func list<Element>(
        _ counts: ClosedRange<Int>, _ element: (inout DualExpressionMaker) -> Element
    ) -> [Element] {
        let count = counts.lowerBound + below(counts.count)
        return (0..<count).map { _ in element(&self) }
    }

    // MARK: Leaves

    /// Returns a value as a literal or a parameter.
    mutating func literal(_ value: Value) -> DualExpression {
        var dual = DualExpression(
            sheaf: "", value: SQL.literal(value), kind: .number, isConstant: true)
        switch value {
        case .integer(let number):
            dual.limits = DualExpression.Limits(
                isInteger: true, bound: Double(number.magnitude), fractionBits: 0)
        case .float(let number):
            dual.limits = DualExpression.Limits(bound: abs(number), fractionBits: 2)
        case .string(let text):
            dual.kind = .text
            dual.limits = DualExpression.Limits(
                bound: Double(text.utf8.count), isASCII: text.utf8.allSatisfy { $0 < 128 })
        case .bool: dual.kind = .boolean
        default:
            dual.limits = DualExpression.Limits(
                isInteger: true, bound: 0, fractionBits: 0, isASCII: true)
        }
        dual.sheaf = chance(1, in: 8) ? parameter(value) : Self.text(of: value) ?? parameter(value)
        return dual
    }

    /// Adds an argument and returns its parameter.
    mutating func parameter(_ value: Value) -> String {
        let name = "p\(arguments.count)"
        arguments[name] = value
        return ":" + name
    }

    /// Returns a literal in Sheaf's syntax; nil if there is none, as for the least integer.
    private static func text(of value: Value) -> String? {
        switch value {
        case .null: return "NULL"
        case .bool(let flag): return flag ? "true" : "false"
        case .integer(.min): return nil
        case .integer(let number): return "\(number)"
        case .float(let number): return "\(number)"
        case .string(let text):
            let escaped = text.flatMap { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }
            return "'" + String(escaped) + "'"
        case .bytes, .array, .object: return nil
        }
    }

    /// Returns a literal like the values of a field; both languages parse it identically.
    mutating func literal(for field: Field) -> DualExpression {
        while true {
            let value = Schema.value(of: field, &random)
            guard case .float(let number) = value else { return literal(value) }
            // SQLite does not round every decimal to the nearest float.
            if abs(number) <= 0x1p53, (number * 4).rounded() == number * 4 { return literal(value) }
        }
    }

    /// Returns a field of one of the sources.
    mutating func field(_ field: Field, of source: String? = nil) -> DualExpression {
        let isQualified = sources.count > 1 || chance(1, in: 10)
        return field.dual(of: source ?? pick(sources), isQualified: isQualified)
    }

    /// Returns one of the fields, or a literal like its values.
    private mutating func leaf(_ fields: [Field]) -> DualExpression {
        let field = pick(fields)
        return chance(1, in: 5) ? literal(for: field) : self.field(field)
    }

    // MARK: Values

    /// Returns an expression of any type.
    mutating func value(_ depth: Int) -> DualExpression {
        switch below(10) {
        case 0..<4: number(depth)
        case 4..<7: text(depth)
        case 7: mixed(depth)
        default: condition(depth)
        }
    }

    mutating func mixed(_ depth: Int) -> DualExpression {
        let fields = [Schema.id, Schema.field("m"), Schema.field("m")]
        guard depth > 0, chance(1, in: 3) else { return field(pick(fields)) }
        return choice(depth) { $0.coin() ? $0.number($1) : $0.text($1) }
    }

    /// Returns a number, or rarely an expression of another type.
    mutating func number(_ depth: Int) -> DualExpression {
        guard depth > 0, chance(2, in: 3) else {
            if chance(1, in: 15) { return field(pick(Schema.all)) }
            return leaf([
                Schema.field("a"), Schema.field("b"), Schema.field("o", "x"), Schema.field("a"),
                Schema.field("b"), Schema.field("n"), Schema.field("k"),
            ])
        }
        switch below(12) {
        case 0..<5: return arithmetic(depth - 1)
        case 5: return .negated(number(depth - 1))
        case 6: return measure(depth - 1)
        case 7: return .rounded(pick(["ceil", "floor", "round"]), number(depth - 1))
        case 8:
            let operand = number(depth - 1).taken(as: .number)
            guard operand.limits.bound < 0x1p62 else { return .sign(operand) }
            return coin() ? .absolute(operand) : .sign(operand)
        case 9:
            if coin() { return .squareRoot(number(depth - 1)) }
            if coin() { return .rounded(field(Schema.field("b")), digits: below(3)) }
            return .cast(
                leaf([Schema.field("a"), Schema.field("b")]), to: pick(["integer", "float"]))
        default: return choice(depth) { $0.number($1) }
        }
    }

    private mutating func arithmetic(_ depth: Int) -> DualExpression {
        let sign = pick(Array("+-*/+-*%"))
        guard sign == "%" else { return .arithmetic(sign, number(depth), number(depth)) }
        // SQLite converts the operands of `%` to integers.
        let operands = [Schema.field("a"), Schema.field("k"), Schema.field("a")]
        return .arithmetic(sign, leaf(operands), leaf(operands))
    }

    private mutating func measure(_ depth: Int) -> DualExpression {
        if chance(1, in: 4) { return .position(of: text(0), in: text(depth), isSpelled: coin()) }
        return .length(pick(["char_length", "byte_length"]), text(depth))
    }

    mutating func text(_ depth: Int) -> DualExpression {
        guard depth > 0, chance(2, in: 3) else {
            if chance(1, in: 15) { return field(pick(Schema.all)) }
            return leaf([
                Schema.field("s"), Schema.field("s"), Schema.field("w"), Schema.field("o", "y"),
            ])
        }
        switch below(12) {
        case 0, 1: return .joined(text(depth - 1), text(depth - 1))
        case 2: return .concatenated(list(2...3) { $0.text(depth - 1) })
        case 3:
            let operand = text(depth - 1)
            // SQLite converts only ASCII letters.
            return operand.taken(as: .text).limits.isASCII
                ? .cased(pick(["lower", "upper"]), operand) : operand
        case 4:
            if chance(1, in: 3) {
                return .trimmed(
                    pick(["BOTH", "LEADING", "TRAILING"]), text(0), from: text(depth - 1))
            }
            let operands = [text(depth - 1)] + (coin() ? [text(0)] : [])
            return .trimmed(pick(["trim", "ltrim", "rtrim"]), operands)
        case 5, 6:
            if chance(1, in: 5) { return .repeated(text(depth - 1), count: below(5) - 1) }
            let length = coin() ? below(4) : nil
            return .part(of: text(depth - 1), from: below(7) - 3, length: length)
        case 7: return .replaced(text(depth - 1), text(0), text(0))
        case 8: return .type(value(depth - 1))
        case 9:
            // Adding zero turns -0.0 into 0.0, because SQLite has no negative zero.
            let number = leaf([Schema.field("a"), Schema.field("b")])
            return .cast(.arithmetic("+", number, .zero), to: "string")
        default: return choice(depth) { $0.text($1) }
        }
    }

    /// Returns a function or CASE that chooses one of several values.
    private mutating func choice(
        _ depth: Int, _ make: (inout DualExpressionMaker, Int) -> DualExpression
    ) -> DualExpression {
        // SQLite stores booleans as integers, which would mix with numbers.
        func value(_ maker: inout DualExpressionMaker) -> DualExpression {
            while true {
                let dual = make(&maker, depth - 1)
                if dual.kind != .boolean { return dual }
            }
        }
        switch below(7) {
        case 0: return .coalesced([value(&self), value(&self)])
        case 1:
            return .alternative(pick(["ifmissing", "ifnull", "nvl"]), value(&self), value(&self))
        case 2: return .unless(pick(["nullif", "missingif"]), value(&self), value(&self))
        case 3:
            let pairs = list(1...2) { (value(&$0), value(&$0)) }
            return .decoded(value(&self), pairs, value(&self))
        case 4:
            let subject = value(&self)
            let branches = list(1...2) { (when: value(&$0), then: value(&$0)) }
            return .conditional(
                subject: subject, branches, otherwise: coin() ? value(&self) : nil)
        default:
            let branches = list(1...2) { (when: $0.condition(depth - 1), then: value(&$0)) }
            return .conditional(subject: nil, branches, otherwise: coin() ? value(&self) : nil)
        }
    }
}
