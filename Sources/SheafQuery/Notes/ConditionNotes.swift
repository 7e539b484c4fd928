import SheafBytes
import SheafDocument

/// The comparisons of a condition that are never true, or that may never be.
struct ConditionNotes {
    /// A comparison of an expression with a constant, true only for values of the same type.
    struct TypedComparison {
        let subject: Expression
        let kinds: Set<Value.Kind>
        /// The constant as text.
        let text: String
    }

    private(set) var notes: [String] = []
    /// Names that may be texts without quotes, by their position.
    private(set) var bareWords: Set<SourceRange> = []
    private(set) var comparisons: [TypedComparison] = []
    private let text: [UInt8]
    private let arguments: ArgumentValues

    init(_ text: String, _ arguments: ArgumentValues) {
        self.text = Array(text.utf8)
        self.arguments = arguments
    }

    /// Reads a condition; paths that begin with a bound variable are no fields.
    mutating func read(_ expression: Expression, bound: [String] = []) throws(StoreError) {
        switch expression.node {
        case .comparison(let operation, let left, let right):
            compare(operation, left, right, bound)
        case .between(let operand, let low, let high, let isNegated):
            quoted(operand, among: [low, high])
            for limit in [low, high] {
                bareWord(limit, beside: operand, bound)
                nullComparison(limit)
                if !isNegated { typed(operand, [limit], bound) }
            }
        case .membership(let operand, let list, let isNegated):
            member(operand, list, isNegated, bound)
        case .pattern(let pattern):
            quoted(pattern.subject, among: [pattern.pattern])
            bareWord(pattern.pattern, beside: pattern.subject, bound)
            if !pattern.isNegated { typed(pattern.subject, [pattern.pattern], bound) }
        case .test(_, let operand, _): quoted(operand, among: [])
        default: break
        }
        try readChildren(of: expression, bound)
    }

    private mutating func readChildren(
        of expression: Expression, _ bound: [String]
    ) throws(StoreError) {
        var children: [(Expression, [String])] = []
        switch expression.node {
        case .quantified(let quantified):
            children = [
                (quantified.condition, bound + quantified.bindings.map(\.variable))
            ]
        case .comprehension(let comprehension):
            guard let condition = comprehension.condition else { return }
            children = [(condition, bound + comprehension.bindings.map(\.variable))]
        default:
            try expression.forEachChild { (child) throws(StoreError) in
                children.append((child, bound))
            }
        }
        for (child, bound) in children { try read(child, bound: bound) }
    }

    // MARK: Comparisons

    private mutating func compare(
        _ operation: ComparisonOperator, _ left: Expression, _ right: Expression, _ bound: [String]
    ) {
        quoted(left, among: [right])
        quoted(right, among: [left])
        bareWord(right, beside: left, bound)
        if !nullComparison(left) { nullComparison(right) }
        typed(left, [right], bound)
        typed(right, [left], bound)
    }

    private mutating func member(
        _ operand: Expression, _ list: Expression, _ isNegated: Bool, _ bound: [String]
    ) {
        guard case .array(let elements) = list.node else { return }
        quoted(operand, among: elements)
        for element in elements { bareWord(element, beside: operand, bound) }
        if elements.count == 1, case .parameter(let name) = elements[0].node,
            case .array? = arguments[name]
        {
            let name = name.shortened
            notes.append(
                "IN (:\(name)) compares with the array itself; write IN :\(name) to compare "
                    + "with its elements")
        } else if !isNegated {
            typed(operand, elements, bound)
        }
    }

    /// Records a comparison with NULL, which is never true; returns whether this is one.
    @discardableResult
    private mutating func nullComparison(_ operand: Expression) -> Bool {
        guard constant(operand) == .null else { return false }
        add(
            "a comparison with NULL is never true; write IS NULL, or IS MISSING where the field "
                + "may be absent")
        return true
    }

    /// Records a text in double quotes that is compared with constants only.
    private mutating func quoted(_ operand: Expression, among others: [Expression]) {
        guard let name = doubleQuoted(operand), others.allSatisfy({ constant($0) != nil }) else {
            return
        }
        // Of two texts in double quotes, the first is the one meant as a name.
        if let other = others.first, doubleQuoted(other) != nil,
            other.range.lower < operand.range.lower
        {
            return
        }
        var printer = Printer()
        printer.write(path: [name])
        add(
            "\"\(name.shortened)\" is a text here, not a field; write "
                + printer.text.shortened + " for the field")
    }

    private func doubleQuoted(_ operand: Expression) -> String? {
        guard case .literal(.string(let name)) = operand.node, operand.range.lower < text.count,
            text[operand.range.lower] == UInt8(ascii: "\"")
        else { return nil }
        return name
    }

    /// Records a single name on the right of a field.
    private mutating func bareWord(
        _ operand: Expression, beside subject: Expression, _ bound: [String]
    ) {
        guard case .path(let names) = operand.node, names.count == 1,
            !bound.hasSpelling(names[0]), case .path = subject.node
        else { return }
        bareWords.insert(operand.range)
    }

    /// Records a comparison of a field with constants.
    private mutating func typed(
        _ subject: Expression, _ constants: [Expression], _ bound: [String]
    ) {
        guard case .path(let path) = subject.node, let first = path.first,
            !bound.hasSpelling(first), let shown = constants.first
        else { return }
        var kinds: Set<Value.Kind> = []
        for expression in constants {
            guard let value = constant(expression), value != .null else { return }
            kinds.insert(value.kind)
        }
        comparisons.append(
            TypedComparison(subject: subject, kinds: kinds, text: spelling(shown)))
    }

    // MARK: Constants

    private func constant(_ expression: Expression) -> Value? {
        switch expression.node {
        case .literal(let value): value
        case .parameter(let name): arguments[name]
        case .negate(let operand):
            if case .literal(let value) = operand.node, value.kind == .number { value } else { nil }
        default: nil
        }
    }

    private func spelling(_ expression: Expression) -> String {
        let range = expression.range
        guard range.lower <= range.upper, range.upper <= text.count else { return "the constant" }
        return String(decoding: text[range.lower..<range.upper], as: UTF8.self).shortened
    }

    private mutating func add(_ note: String) {
        if !notes.contains(note) { notes.append(note) }
    }
}
