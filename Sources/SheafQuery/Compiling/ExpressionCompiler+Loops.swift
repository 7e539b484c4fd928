import SheafDocument

/// Quantifiers and comprehensions.
extension ExpressionCompiler {
    /// Compiles a quantifier or comprehension.
    func compileLoop(_ expression: Expression) throws(StoreError) -> Compiled {
        let loop: Evaluator
        switch expression.node {
        case .quantified(let quantified):
            try checkNesting(quantified.bindings, expression)
            loop = try compile(quantified).evaluator
        case .comprehension(let comprehension):
            try checkNesting(comprehension.bindings, expression)
            loop = try compile(comprehension).evaluator
        default: preconditionFailure("Only quantifiers and comprehensions are loops.")
        }
        let (range, text) = (expression.range, scope.text)
        return .dynamic { (frame) throws(StoreError) in
            do throws(StoreError) { return try loop(frame) } catch {
                throw error.located(at: range, in: text)
            }
        }
    }

    /// Throws if loops are nested too deeply; each level multiplies the number of steps.
    private func checkNesting(
        _ bindings: [Binding], _ expression: Expression
    ) throws(StoreError) {
        guard scope.boundCount + bindings.count <= QueryLimits.maximumLoopNesting else {
            throw error(
                .limit,
                "loops are nested deeper than the limit of \(QueryLimits.maximumLoopNesting)",
                expression)
        }
    }

    private func compile(_ quantified: Quantified) throws(StoreError) -> Compiled {
        let loop = try bind(quantified.bindings)
        let condition = try compilePredicate(quantified.condition).predicate
        for _ in quantified.bindings { scope.unbind() }
        let kind = quantified.kind
        return .dynamic { (frame) throws(StoreError) in
            var count = 0
            var truth: Truth = kind == .any ? .no : .yes
            let unknown = try loop.run(frame) { (frame) throws(StoreError) in
                count += 1
                let answer = try condition(frame)
                truth = kind == .any ? truth.or(answer) : truth.and(answer)
                return truth != (kind == .any ? .yes : .no)
            }
            if let unknown { return unknown.value }
            if kind == .anyAndEvery, count == 0 { return .bool(false) }
            return truth.value
        }
    }

    private func compile(_ comprehension: Comprehension) throws(StoreError) -> Compiled {
        let loop = try bind(comprehension.bindings)
        let condition = try comprehension.condition.map { (condition) throws(StoreError) in
            try compilePredicate(condition).predicate
        }
        let element = try compile(comprehension.element).evaluator
        let key = try comprehension.key.map { (key) throws(StoreError) in
            try compile(key).evaluator
        }
        for _ in comprehension.bindings { scope.unbind() }
        return .dynamic { (frame) throws(StoreError) in
            var elements: [Value] = []
            var fields: [Object.Field] = []
            let unknown = try loop.run(frame) { (frame) throws(StoreError) in
                if let condition, try condition(frame) != .yes { return true }
                guard let value = try element(frame) else { return true }
                guard elements.count + fields.count < QueryLimits.maximumLoopParts else {
                    throw StoreError(
                        .limit, "a loop yields more than \(QueryLimits.maximumLoopParts) elements")
                }
                guard let key else {
                    elements.append(value)
                    return true
                }
                if case .string(let name)? = try key(frame) {
                    fields.append(Object.Field(name, value))
                }
                return true
            }
            // A missing source yields MISSING; a source that is neither an array nor an object
            // yields null.
            if let unknown { return unknown == .missing ? nil : .null }
            return try ComputedValueSize.checked(
                key == nil ? .array(elements) : .object(Object(sorting: fields)),
                parts: QueryLimits.maximumLoopParts)
        }
    }

    private func bind(_ bindings: [Binding]) throws(StoreError) -> Loop {
        var loop = Loop()
        for binding in bindings {
            let source = try compile(binding.source).evaluator
            loop.steps.append(
                Loop.Step(
                    variable: scope.bind(binding.variable), source: source,
                    isDeep: binding.isDeep))
        }
        return loop
    }
}

/// Nested iteration over the elements of arrays or the values of objects.
private struct Loop {
    struct Step {
        let variable: Int
        let source: Evaluator
        /// Whether nested values are visited as well.
        let isDeep: Bool
    }

    var steps: [Step] = []

    /// Calls `body` for each assignment of the variables until it returns false.
    ///
    /// Returns `.missing` if a source is missing, `.null` if it is neither an array nor an object,
    /// and nil otherwise.
    func run(
        _ frame: RowContext, _ body: (RowContext) throws(StoreError) -> Bool
    ) throws(StoreError) -> Truth? {
        var isStopped = false
        // Nested loops share the step counter of the outermost one.
        if frame.loopDepth == 0 { frame.loopSteps = 0 }
        frame.loopDepth += 1
        defer { frame.loopDepth -= 1 }
        return try run(0, frame, &isStopped, body)
    }

    private func run(
        _ depth: Int, _ frame: RowContext, _ isStopped: inout Bool,
        _ body: (RowContext) throws(StoreError) -> Bool
    ) throws(StoreError) -> Truth? {
        guard depth < steps.count else {
            isStopped = try !body(frame)
            return nil
        }
        let step = steps[depth]
        let elements: [Value]
        switch try step.source(frame) {
        case nil: return .missing
        case .array(let values)?: elements = step.isDeep ? Self.descendants(of: values) : values
        case .object(let object)?:
            let values = object.map(\.value)
            elements = step.isDeep ? Self.descendants(of: values) : values
        default: return .null
        }
        let outer = frame.variables[step.variable]
        defer { frame.variables[step.variable] = outer }
        // Each further variable is a loop around the loops of the body.
        if depth > 0 { frame.loopDepth += 1 }
        defer { if depth > 0 { frame.loopDepth -= 1 } }
        let limit = Self.limit(atDepth: frame.loopDepth)
        for element in elements {
            frame.loopSteps += 1
            if frame.loopSteps & 0xFFF == 0 { try frame.context.interruption?.check() }
            try frame.context.meter?.charge(16)
            guard frame.loopSteps <= limit else {
                let loop = frame.loopDepth > 1 ? "a loop within a loop" : "a loop"
                throw StoreError(.limit, "\(loop) takes more than \(limit) steps")
            }
            frame.variables[step.variable] = element
            if let unknown = try run(depth + 1, frame, &isStopped, body) { return unknown }
            if isStopped { return nil }
        }
        return nil
    }

    private static func limit(atDepth depth: Int) -> Int {
        switch depth {
        case ...1: QueryLimits.maximumLoopSteps
        case 2: QueryLimits.maximumNestedSteps
        default: QueryLimits.maximumDeepSteps
        }
    }

    /// Returns all values at every depth, parents before children.
    private static func descendants(of values: [Value]) -> [Value] {
        var found: [Value] = []
        var waiting = Array(values.reversed())
        while let value = waiting.popLast() {
            found.append(value)
            switch value {
            case .array(let inner): waiting += inner.reversed()
            case .object(let object): waiting += object.map(\.value).reversed()
            default: break
            }
        }
        return found
    }
}
