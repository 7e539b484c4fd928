import SheafBytes
import SheafDocument
import SheafText

/// A closure that evaluates a condition in a row context.
typealias Predicate = (RowContext) throws(StoreError) -> Truth

/// A compiled condition.
enum CompiledPredicate {
    case constant(Truth)
    case dynamic(Predicate)

    var predicate: Predicate {
        switch self {
        case .constant(let truth): { (_) throws(StoreError) in truth }
        case .dynamic(let predicate): predicate
        }
    }
}

extension ExpressionCompiler {
    /// Compiles a condition; logical operators and comparisons yield a `Truth` without a `Value`.
    func compilePredicate(
        _ expression: Expression
    ) throws(StoreError) -> CompiledPredicate {
        switch expression.node {
        case .and(let terms): return try combine(terms, startingWith: .yes, endingAt: .no)
        case .or(let terms): return try combine(terms, startingWith: .no, endingAt: .yes)
        case .xor(let terms): return try exclusive(terms)
        case .not(let operand):
            switch try compilePredicate(operand) {
            case .constant(let truth): return .constant(truth.negated)
            case .dynamic(let predicate):
                return .dynamic { (frame) throws(StoreError) in try predicate(frame).negated }
            }
        case .comparison(let operation, let left, let right):
            return try predicate(try compile(operand: left), try compile(operand: right)) {
                Operators.compare(operation, $0, $1)
            }
        case .between(let operand, let low, let high, let isNegated):
            let operands = [
                try compile(operand), try compile(operand: low), try compile(operand: high),
            ]
            return try predicate(operands) { (values, _) throws(StoreError) in
                let truth = Operators.isBetween(values[0], values[1], values[2])
                return isNegated ? truth.negated : truth
            }
        case .membership(let operand, let list, let isNegated):
            return try compileMembership(operand, list, isNegated: isNegated)
        case .pattern(let pattern): return try compile(pattern, expression)
        case .test(let test, let operand, let isNegated):
            return try predicate(try compile(operand)) {
                Truth(Operators.test(test, $0) != isNegated)
            }
        default:
            return try predicate(try compile(expression)) { Truth($0) }
        }
    }

    /// Returns the predicate of a condition; nil if it is always true.
    func conditionPredicate(_ expression: Expression) throws(StoreError) -> Predicate? {
        switch try compilePredicate(expression) {
        case .constant(.yes): return nil
        case let compiled: return compiled.predicate
        }
    }

    /// Returns the conjunctions of terms, by the number of joins after which they are evaluated: as
    /// soon as their sources have rows, or after all joins if they may fail.
    func stages(of terms: [Expression], joinCount: Int) throws(StoreError) -> [Predicate?] {
        var stages: [[Expression]] = Array(repeating: [], count: joinCount + 1)
        for term in terms {
            stages[term.neverFails ? try lastSource(in: term) : joinCount].append(term)
        }
        var predicates: [Predicate?] = []
        for terms in stages {
            guard let first = terms.first else {
                predicates.append(nil)
                continue
            }
            let condition = terms.count > 1 ? Expression(.and(terms), at: first.range) : first
            predicates.append(try conditionPredicate(condition))
        }
        return predicates
    }

    /// Returns the number of the last source that an expression reads.
    private func lastSource(in expression: Expression) throws(StoreError) -> Int {
        var last = 0
        try expression.forEachPath { (path, range) throws(StoreError) in
            switch try scope.resolve(path, at: range) {
            case .row(let source), .id(let source, _), .field(let source, _):
                last = max(last, source)
            case .variable: break
            }
        }
        return last
    }

    /// Applies a test to a value, immediately if it is constant.
    private func predicate(
        _ operand: Compiled, _ ask: @escaping (Value?) -> Truth
    ) throws(StoreError) -> CompiledPredicate {
        switch operand {
        case .constant(let value): return .constant(ask(value))
        case .dynamic(let evaluator):
            return .dynamic { (frame) throws(StoreError) in ask(try evaluator(frame)) }
        }
    }

    /// Applies a test to two values, immediately if both are constant.
    private func predicate(
        _ left: Compiled, _ right: Compiled, _ ask: @escaping (Value?, Value?) -> Truth
    ) throws(StoreError) -> CompiledPredicate {
        switch (left, right) {
        case (.constant(let left), .constant(let right)): return .constant(ask(left, right))
        case (.dynamic(let left), .constant(let right)):
            return .dynamic { (frame) throws(StoreError) in ask(try left(frame), right) }
        case (.constant(let left), .dynamic(let right)):
            return .dynamic { (frame) throws(StoreError) in ask(left, try right(frame)) }
        case (.dynamic(let left), .dynamic(let right)):
            return .dynamic { (frame) throws(StoreError) in
                ask(try left(frame), try right(frame))
            }
        }
    }

    /// Applies a test to values, immediately if all are constant.
    private func predicate(
        _ operands: [Compiled],
        _ ask: @escaping ([Value?], FunctionContext) throws(StoreError) -> Truth
    ) throws(StoreError) -> CompiledPredicate {
        if case .constant(let value) = operands[0], operands.count == 1 {
            return .constant(try ask([value], context))
        }
        if operands.allSatisfy(\.isConstant) {
            var values: [Value?] = []
            for case .constant(let value) in operands { values.append(value) }
            return .constant(try ask(values, context))
        }
        let evaluators = operands.map(\.evaluator)
        return .dynamic { (frame) throws(StoreError) in
            var values: [Value?] = []
            values.reserveCapacity(evaluators.count)
            for evaluator in evaluators { values.append(try evaluator(frame)) }
            return try ask(values, frame.context)
        }
    }

    private func combine(
        _ terms: [Expression], startingWith start: Truth, endingAt end: Truth
    ) throws(StoreError) -> CompiledPredicate {
        var known = start
        var predicates: [Predicate] = []
        for term in terms {
            switch try compilePredicate(term) {
            case .constant(let truth): known = end == .no ? known.and(truth) : known.or(truth)
            case .dynamic(let predicate): predicates.append(predicate)
            }
        }
        if predicates.isEmpty || known == end { return .constant(known) }
        let isConjunction = end == .no
        return .dynamic { [known, predicates] (frame) throws(StoreError) in
            var result = known
            for predicate in predicates {
                let truth = try predicate(frame)
                result = isConjunction ? result.and(truth) : result.or(truth)
                if result == end { return result }
            }
            return result
        }
    }

    /// Compiles XOR, which evaluates all of its terms.
    private func exclusive(_ terms: [Expression]) throws(StoreError) -> CompiledPredicate {
        var known = Truth.no
        var predicates: [Predicate] = []
        for term in terms {
            switch try compilePredicate(term) {
            case .constant(let truth): known = known.xor(truth)
            case .dynamic(let predicate): predicates.append(predicate)
            }
        }
        if predicates.isEmpty { return .constant(known) }
        return .dynamic { [known, predicates] (frame) throws(StoreError) in
            var result = known
            for predicate in predicates { result = result.xor(try predicate(frame)) }
            return result
        }
    }

    private func compileMembership(
        _ operand: Expression, _ list: Expression, isNegated: Bool
    ) throws(StoreError) -> CompiledPredicate {
        let value = try compile(operand)
        if case .array(let elements) = list.node {
            let elements = try compile(elements)
            if let known = KnownElements(elements) {
                return try predicate(value, in: known, isNegated: isNegated)
            }
            return try predicate([value] + elements) { (values, _) throws(StoreError) in
                let truth = Operators.isMember(values[0], among: Array(values.dropFirst()))
                return isNegated ? truth.negated : truth
            }
        }
        let elements = try compile(list)
        if case .constant(.array(let values)?) = elements {
            return try predicate(value, in: KnownElements(values), isNegated: isNegated)
        }
        return try predicate([value, elements]) { (values, _) throws(StoreError) in
            let truth = Operators.isMember(values[0], of: values[1])
            return isNegated ? truth.negated : truth
        }
    }

    private func predicate(
        _ value: Compiled, in known: KnownElements, isNegated: Bool
    ) throws(StoreError) -> CompiledPredicate {
        try predicate([value]) { (values, _) throws(StoreError) in
            let truth = known.contains(values[0])
            return isNegated ? truth.negated : truth
        }
    }

    private func compile(
        _ pattern: Pattern, _ expression: Expression
    ) throws(StoreError) -> CompiledPredicate {
        let operands = try compile(
            [pattern.subject, pattern.pattern] + (pattern.escape.map { [$0] } ?? []))
        let (kind, isNegated) = (pattern.kind, pattern.isNegated)
        if operands.dropFirst().allSatisfy(\.isConstant),
            case .constant(let text) = operands[1]
        {
            var escape: Value? = .string("")
            if operands.count > 2, case .constant(let value) = operands[2] { escape = value }
            let matcher: PatternMatcher
            do throws(StoreError) {
                matcher = try PatternMatcher(kind, text, escape: escape)
            } catch {
                throw self.error(error.reason, error.message, hint: error.hint, pattern.pattern)
            }
            let length = text?.textLength ?? 0
            return try predicate([operands[0]]) { (values, context) throws(StoreError) in
                if case .string(let text)? = values[0] {
                    try context.charge(pattern: length, on: text)
                }
                let truth = try matcher.matches(values[0])
                return isNegated ? truth.negated : truth
            }
        }
        let (range, text) = (pattern.pattern.range, scope.text)
        return try predicate(operands) { (values, context) throws(StoreError) in
            if case .string(let text)? = values[0] {
                try context.charge(pattern: values[1]?.textLength ?? 0, on: text)
            }
            let escape = values.count > 2 ? values[2] : .string("")
            do throws(StoreError) {
                let truth = try PatternMatcher(kind, values[1], escape: escape).matches(values[0])
                return isNegated ? truth.negated : truth
            } catch {
                throw error.located(at: range, in: text)
            }
        }
    }
}

/// The constant elements of a list, as a set for IN.
private struct KnownElements {
    private var values: Set<Value> = []
    private var hasNull = false
    private var hasMissing = false

    init?(_ elements: [Compiled]) {
        for element in elements {
            guard case .constant(let value) = element else { return nil }
            add(value)
        }
    }

    init(_ elements: [Value]) {
        for element in elements { add(element) }
    }

    private mutating func add(_ element: Value?) {
        switch element {
        case nil: hasMissing = true
        case .null?: hasNull = true
        case let value?: values.insert(value)
        }
    }

    func contains(_ value: Value?) -> Truth {
        if values.isEmpty, !hasNull, !hasMissing { return .no }
        guard let value else { return .missing }
        if value == .null { return hasMissing ? .missing : .null }
        if values.contains(value) { return .yes }
        return hasMissing ? .missing : hasNull ? .null : .no
    }
}

extension Value {
    /// The length of a string in bytes; 0 for other values.
    fileprivate var textLength: Int {
        if case .string(let text) = self { text.utf8.count } else { 0 }
    }
}

/// A compiled pattern of LIKE, ILIKE or SIMILAR TO.
private struct PatternMatcher {
    /// The matcher; nil if the pattern or the escape is not a string.
    private let matcher: TextPattern?
    /// The result for a string if there is no matcher.
    private let unknown: Truth

    init(_ kind: Pattern.Kind, _ pattern: Value?, escape: Value?) throws(StoreError) {
        unknown =
            switch (pattern, escape) {
            case (nil, _), (_, nil): .missing
            case (.null?, .string?), (.string?, .null?), (.null?, .null?): .null
            default: .missing
            }
        guard case .string(let text)? = pattern, case .string(let escape)? = escape else {
            matcher = nil
            return
        }
        let scalars = escape.unicodeScalars
        guard scalars.count <= 1 else {
            throw StoreError(.argument, "ESCAPE takes one character, not \(scalars.count)")
        }
        matcher = try StoreError.ofPatterns { () throws(PatternError) in
            switch kind {
            case .like, .caseInsensitiveLike:
                try TextPattern.like(
                    text, escape: scalars.first, isCaseInsensitive: kind == .caseInsensitiveLike)
            case .similar: try TextPattern.similar(text, escape: scalars.first)
            }
        }
    }

    func matches(_ value: Value?) throws(StoreError) -> Truth {
        switch value {
        case .string(let text)?:
            guard let matcher else { return unknown }
            return Truth(
                try StoreError.ofPatterns { () throws(PatternError) in try matcher.matches(text) })
        case .null?: return unknown == .missing && matcher == nil ? .missing : .null
        default: return .missing
        }
    }
}

extension Expression {
    /// Whether evaluation throws only for damaged documents.
    var neverFails: Bool {
        switch node {
        case .literal, .missing, .parameter, .path: true
        case .and(let terms), .or(let terms), .xor(let terms): terms.allSatisfy(\.neverFails)
        case .not(let operand), .test(_, let operand, _): operand.neverFails
        case .comparison(_, let left, let right): left.neverFails && right.neverFails
        case .between(let operand, let low, let high, _):
            operand.neverFails && low.neverFails && high.neverFails
        case .membership(let operand, let list, _):
            if case .array(let elements) = list.node {
                operand.neverFails && elements.allSatisfy(\.isValue)
            } else {
                false
            }
        case .pattern(let pattern):
            pattern.kind == .like && pattern.subject.neverFails && pattern.pattern.isValue
                && pattern.escape == nil
        default: false
        }
    }

    private var isValue: Bool {
        switch node {
        case .literal, .parameter: true
        default: false
        }
    }
}
