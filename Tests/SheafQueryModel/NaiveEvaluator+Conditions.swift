import SheafDocument
import SheafQuery
import SheafText

/// Evaluation of conditions to TRUE, FALSE, NULL or MISSING.
extension NaiveEvaluator {
    func answer(_ expression: Expression) throws(StoreError) -> Truth {
        switch expression.node {
        case .not(let operand): return try truth(operand).negated
        case .and(let terms):
            var truth = Truth.yes
            for term in terms { truth = truth.and(try self.truth(term)) }
            return truth
        case .or(let terms):
            var truth = Truth.no
            for term in terms { truth = truth.or(try self.truth(term)) }
            return truth
        case .xor(let terms):
            // MISSING takes precedence over NULL.
            let truths = try terms.map { (term) throws(StoreError) in try truth(term) }
            if truths.contains(.missing) { return .missing }
            if truths.contains(.null) { return .null }
            return Truth(!truths.count(where: { $0 == .yes }).isMultiple(of: 2))
        case .comparison(let operation, let left, let right):
            return Operators.compare(operation, try value(left), try value(right))
        case .between(let operand, let low, let high, let isNegated):
            let truth = Operators.isBetween(try value(operand), try value(low), try value(high))
            return isNegated ? truth.negated : truth
        case .membership(let operand, let list, let isNegated):
            let truth = try isMember(operand, list)
            return isNegated ? truth.negated : truth
        case .test(let test, let operand, let isNegated):
            return Truth(Self.test(test, try value(operand)) != isNegated)
        case .pattern(let pattern):
            let truth = try matches(pattern)
            return pattern.isNegated ? truth.negated : truth
        default: return Truth(try value(expression))
        }
    }

    private static func test(_ test: Test, _ value: Value?) -> Bool {
        switch test {
        case .missing: value == nil
        case .null: value == .some(.null)
        case .yes: value == .some(.bool(true))
        case .no: value == .some(.bool(false))
        }
    }

    private func isMember(_ operand: Expression, _ list: Expression) throws(StoreError) -> Truth {
        guard case .array(let elements) = list.node else {
            return Operators.isMember(try value(operand), of: try value(list))
        }
        var values: [Value?] = []
        for element in elements { values.append(try value(element)) }
        return Operators.isMember(try value(operand), among: values)
    }

    // MARK: Patterns

    private func matches(_ pattern: Pattern) throws(StoreError) -> Truth {
        var operands = [try value(pattern.subject), try value(pattern.pattern)]
        if let escape = pattern.escape { operands.append(try value(escape)) }
        var texts: [String] = []
        var hasNull = false
        for operand in operands {
            switch operand {
            case .string(let text)?: texts.append(text)
            case .null?: hasNull = true
            default: return .missing
            }
        }
        if hasNull { return .null }
        let escape = texts.count > 2 ? texts[2].unicodeScalars.first : nil
        switch pattern.kind {
        case .like:
            return Truth(
                Self.isLike(
                    Array(texts[0].unicodeScalars)[...], Array(texts[1].unicodeScalars)[...],
                    escape))
        case .caseInsensitiveLike:
            return Truth(
                try StoreError.ofPatterns { () throws(PatternError) in
                    try TextPattern.like(texts[1], escape: escape, isCaseInsensitive: true)
                        .matches(texts[0])
                })
        case .similar:
            return Truth(
                try StoreError.ofPatterns { () throws(PatternError) in
                    try TextPattern.similar(texts[1], escape: escape).matches(texts[0])
                })
        }
    }

    /// Whether a text matches a LIKE pattern, by exponential backtracking (for short texts only).
    private static func isLike(
        _ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>,
        _ escape: Unicode.Scalar?
    ) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        var rest = pattern.dropFirst()
        if let escape, first == escape, let literal = rest.popFirst() {
            return text.first == literal && isLike(text.dropFirst(), rest, escape)
        }
        switch first {
        case "%":
            return (text.startIndex...text.endIndex).contains { isLike(text[$0...], rest, escape) }
        case "_": return !text.isEmpty && isLike(text.dropFirst(), rest, escape)
        default: return text.first == first && isLike(text.dropFirst(), rest, escape)
        }
    }

    // MARK: Loops

    func value(_ quantified: Quantified) throws(StoreError) -> Value? {
        var isEmpty = true
        let isAny = quantified.kind == .any
        var truth: Truth = isAny ? .no : .yes
        var evaluator = self
        let unknown = try evaluator.forEach(quantified.bindings[...]) {
            (row) throws(StoreError) in
            isEmpty = false
            let answer = try row.truth(quantified.condition)
            truth = isAny ? truth.or(answer) : truth.and(answer)
            return truth != (isAny ? .yes : .no)
        }
        if let unknown { return unknown.value }
        if quantified.kind == .anyAndEvery, isEmpty { return .bool(false) }
        return truth.value
    }

    func value(_ comprehension: Comprehension) throws(StoreError) -> Value? {
        var elements: [Value] = []
        var object = Object()
        var evaluator = self
        let unknown = try evaluator.forEach(comprehension.bindings[...]) {
            (row) throws(StoreError) in
            if let condition = comprehension.condition, try row.truth(condition) != .yes {
                return true
            }
            guard let value = try row.value(comprehension.element) else { return true }
            elements.append(value)
            if let key = comprehension.key, case .string(let name)? = try row.value(key) {
                object[name] = value
            }
            return true
        }
        if let unknown { return unknown.value }
        return comprehension.key == nil ? .array(elements) : .object(object)
    }

    /// Calls `body` with all combinations of bound elements until it returns false.
    ///
    /// Returns NULL or MISSING if a source cannot be iterated.
    private mutating func forEach(
        _ bindings: ArraySlice<Binding>, _ body: (NaiveEvaluator) throws(StoreError) -> Bool
    ) throws(StoreError) -> Truth? {
        var isStopped = false
        return try forEach(bindings, &isStopped, body)
    }

    private mutating func forEach(
        _ bindings: ArraySlice<Binding>, _ isStopped: inout Bool,
        _ body: (NaiveEvaluator) throws(StoreError) -> Bool
    ) throws(StoreError) -> Truth? {
        guard let binding = bindings.first else {
            isStopped = try !body(self)
            return nil
        }
        var elements: [Value]
        switch try value(binding.source) {
        case nil: return .missing
        case .array(let values)?: elements = values
        case .object(let object)?: elements = object.map(\.value)
        default: return .null
        }
        if binding.isDeep { elements = elements.flatMap(Self.everything) }
        for element in elements where !isStopped {
            variables.append((binding.variable, element))
            defer { variables.removeLast() }
            if let unknown = try forEach(bindings.dropFirst(), &isStopped, body) { return unknown }
        }
        return nil
    }

    private static func everything(in value: Value) -> [Value] {
        switch value {
        case .array(let values): [value] + values.flatMap(everything)
        case .object(let object): [value] + object.flatMap { everything(in: $0.value) }
        default: [value]
        }
    }
}
