import SheafBytes
import SheafDocument
import SheafText

/// The part of a condition that keys can decide, for the fields of one source.
indirect enum Condition {
    /// True if and only if the value of the field is in the set; `_id` is the id.
    case field([String], ComponentSet)
    /// True only if the value of the field is in the set, but not for all of these values.
    case somewhereIn([String], ComponentSet)
    case all([Condition])
    case any([Condition])
    /// A condition that is always true.
    case always
    /// A condition that is never true.
    case never
    /// A condition that restricts no keys.
    case anything

    /// Whether the condition restricts no keys.
    var isAnything: Bool {
        if case .anything = self { true } else { false }
    }

    /// Whether the condition is equivalent to the original expression.
    var isExact: Bool {
        switch self {
        case .field, .always, .never: true
        case .somewhereIn, .anything: false
        case .all(let conditions), .any(let conditions): conditions.allSatisfy(\.isExact)
        }
    }
}

/// A reader that extracts the part of an expression that keys can decide.
struct ConditionReader {
    /// The compiler for the constants of the expression.
    let compiler: ExpressionCompiler
    /// Number of the source.
    let source: Int

    /// Returns a necessary condition for `expression` to be true, or false if `isNegated`.
    func read(
        _ expression: Expression, isNegated: Bool = false
    ) throws(StoreError) -> Condition {
        switch expression.node {
        case .and(let terms), .or(let terms):
            var isAll = false
            if case .and = expression.node { isAll = true }
            var conditions: [Condition] = []
            for term in terms { conditions.append(try read(term, isNegated: isNegated)) }
            // De Morgan: a negated conjunction is a disjunction of negations, and vice versa.
            return isAll != isNegated ? .all(conditions) : Self.any(conditions)
        case .not(let operand): return try read(operand, isNegated: !isNegated)
        case .comparison(let operation, let left, let right):
            return try comparison(isNegated ? operation.opposite : operation, left, right)
        case .between(let operand, let low, let high, let negated):
            let isNegated = negated != isNegated
            let first = try comparison(isNegated ? .less : .greaterOrEqual, operand, low)
            let second = try comparison(isNegated ? .greater : .lessOrEqual, operand, high)
            return isNegated ? Self.any([first, second]) : .all([first, second])
        case .membership(let operand, let list, let negated):
            return try membership(operand, list, isNegated: negated != isNegated)
        case .test(let test, let operand, let negated):
            return try self.test(test, operand, isNegated: negated != isNegated)
        case .pattern(let pattern) where !isNegated && !pattern.isNegated:
            return try self.pattern(pattern)
        case .call(let call)
        where call.name == "starts_with" && call.arguments.count == 2 && !isNegated:
            guard let path = try path(of: call.arguments[0]),
                case .string(let prefix)?? = try constant(call.arguments[1])
            else { return .anything }
            return .field(path, ComponentSet([.strings(from: Array(prefix.utf8))]))
        default:
            if let path = try path(of: expression) {
                return .field(path, ComponentSet([.only(.bool(!isNegated))]))
            }
            guard let value = try constant(expression) else { return .anything }
            let truth = Truth(value)
            return (isNegated ? truth.negated : truth) == .yes ? .always : .never
        }
    }

    private static func any(_ conditions: [Condition]) -> Condition {
        for case .always in conditions { return .always }
        for case .anything in conditions { return .anything }
        return .any(
            conditions.filter {
                if case .never = $0 { return false }
                return true
            })
    }

    /// Returns the path of a visible field of the source; nil for other expressions.
    func path(of expression: Expression) throws(StoreError) -> [String]? {
        guard case .path(let path) = expression.node else { return nil }
        switch try compiler.scope.resolve(path, at: expression.range) {
        case .id(source, let rest): return [Row.idName] + rest
        case .field(source, let path):
            let types = compiler.scope.members[source].types
            return types.isShown(path) ? path : nil
        default: return nil
        }
    }

    /// Returns the value of a constant expression, which may be MISSING; nil if it is not constant.
    private func constant(_ expression: Expression) throws(StoreError) -> Value?? {
        guard case .constant(let value) = try compiler.compile(expression) else { return nil }
        return .some(value)
    }

    private func comparison(
        _ operation: ComparisonOperator, _ left: Expression, _ right: Expression
    ) throws(StoreError) -> Condition {
        if let path = try path(of: left) {
            guard let value = try constant(right) else { return .anything }
            return Self.comparison(path, operation, value)
        }
        if let path = try path(of: right) {
            guard let value = try constant(left) else { return .anything }
            return Self.comparison(path, operation.turned, value)
        }
        return .anything
    }

    /// Returns the condition of a comparison of a field with a constant.
    static func comparison(
        _ path: [String], _ operation: ComparisonOperator, _ value: Value?
    ) -> Condition {
        guard let value else { return .never }
        let ranges = ComponentRange.values(operation, value)
        return ranges.isEmpty ? .never : .field(path, ComponentSet(ranges))
    }

    private func membership(
        _ operand: Expression, _ list: Expression, isNegated: Bool
    ) throws(StoreError) -> Condition {
        guard let path = try path(of: operand) else { return .anything }
        var elements: [Value?] = []
        if case .array(let expressions) = list.node {
            for expression in expressions {
                guard let value = try constant(expression) else { return .anything }
                elements.append(value)
            }
        } else {
            guard let value = try constant(list) else { return .anything }
            guard case .array(let values)? = value else { return .never }
            elements = values
        }
        let isComplete = elements.allSatisfy { $0 != nil && $0 != .null }
        let points = elements.compactMap { $0 }.filter { $0 != .null }.map(ComponentRange.only)
        guard isNegated else {
            return points.isEmpty ? .never : .field(path, ComponentSet(points))
        }
        // A null or missing element makes NOT IN unknown. NOT IN an empty list is true even for a
        // missing value.
        guard isComplete else { return .never }
        guard !elements.isEmpty else { return .always }
        let present = ComponentSet([.present]).intersection(ComponentSet(ComponentRange.notNull))
        return .field(path, present.intersection(ComponentSet(points).complement))
    }

    private func test(
        _ test: Test, _ operand: Expression, isNegated: Bool
    ) throws(StoreError) -> Condition {
        guard let path = try path(of: operand) else { return .anything }
        let point: ComponentRange =
            switch test {
            case .null: .only(.null)
            case .missing: .only(nil)
            case .yes: .only(.bool(true))
            case .no: .only(.bool(false))
            }
        guard isNegated else { return .field(path, ComponentSet([point])) }
        return switch test {
        case .null: .field(path, ComponentSet(ComponentRange.notNull))
        case .missing: .field(path, ComponentSet([.present]))
        case .yes, .no: .field(path, ComponentSet([point]).complement)
        }
    }

    private func pattern(_ pattern: Pattern) throws(StoreError) -> Condition {
        guard pattern.kind == .like, let path = try path(of: pattern.subject),
            case .string(let text)?? = try constant(pattern.pattern)
        else { return .anything }
        var escape: UnicodeScalar?
        if let expression = pattern.escape {
            guard case .string(let text)?? = try constant(expression),
                text.unicodeScalars.count == 1
            else { return .anything }
            escape = text.unicodeScalars.first
        }
        let matcher = try StoreError.ofPatterns { () throws(PatternError) in
            try TextPattern.like(text, escape: escape, isCaseInsensitive: false)
        }
        if let literal = matcher.literal {
            let value = Value.string(String(decoding: literal, as: UTF8.self))
            return .field(path, ComponentSet([.only(value)]))
        }
        let strings = ComponentSet([.strings(from: matcher.literalPrefix)])
        return matcher.isPrefix ? .field(path, strings) : .somewhereIn(path, strings)
    }
}
