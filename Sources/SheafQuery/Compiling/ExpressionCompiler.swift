import SheafBytes
import SheafDocument
import SheafText

/// A compiler of expressions into closures over row contexts, used for one plan.
///
/// Arguments are known when a statement is planned and are treated as constants. Later runs may
/// reuse the plan, so closures get the function context of their run from the row context.
final class ExpressionCompiler {
    var scope: Scope
    let names: NameTable
    let arguments: ArgumentValues
    /// The context of the run that plans, for constant expressions.
    let context: FunctionContext
    /// Whether a compiled expression calls a function that reads the clock.
    private(set) var readsClock = false
    /// Whether operands of comparisons read parameters from the run instead of being constants.
    var bindsLate = false
    /// Parameters compiled to be read from the run.
    private(set) var lateParameters: [String] = []
    /// The expressions visible after GROUP BY; nil before grouping.
    var groups: GroupScope?

    init(
        _ scope: Scope, names: NameTable, arguments: ArgumentValues, context: FunctionContext
    ) {
        self.scope = scope
        self.names = names
        self.arguments = arguments
        self.context = context
    }

    func compile(_ expression: Expression) throws(StoreError) -> Compiled {
        if let index = try groups?.key(of: expression, scope) {
            return .dynamic { (frame) throws(StoreError) in frame.groups[index] }
        }
        switch expression.node {
        case .literal(let value): return .constant(value)
        case .missing: return .constant(nil)
        case .parameter(let name):
            guard let value = arguments[name] else {
                throw StoreError(
                    .argument, "Parameter \(name) was not provided",
                    hint: argumentHint(name), page: "arguments", at: expression.range,
                    in: scope.text)
            }
            return .constant(value)
        case .path(let path): return try compile(path: path, at: expression.range)
        case .array(let elements):
            return try Compiled.combine(try compile(elements), in: context) {
                (values, _) throws(StoreError) in
                // Missing elements are omitted, as in every computed array.
                try ComputedValueSize.checked(.array(values.compactMap { $0 }))
            }
        case .object(let fields):
            return try Self.object(
                fields.map(\.name), try compile(fields.map(\.value)), in: context)
        case .negate(let operand):
            return try compile(operand).map { (value) throws(StoreError) in
                Operators.negate(value)
            }
        case .not, .and, .or, .xor, .comparison, .between, .membership, .pattern, .test:
            let predicate = try compilePredicate(expression)
            switch predicate {
            case .constant(let truth): return .constant(truth.value)
            case .dynamic(let evaluator):
                return .dynamic { (frame) throws(StoreError) in try evaluator(frame).value }
            }
        case .arithmetic(let first, let steps):
            return try compileChain(first, steps, at: expression.range)
        case .conditional(let conditional): return try compile(conditional)
        case .call(let call): return try compile(call, at: expression.range)
        case .cast(let operand, let type):
            return try compile(operand).map { (value) throws(StoreError) in
                Operators.cast(value, to: type)
            }
        case .quantified, .comprehension: return try compileLoop(expression)
        }
    }

    /// Compiles an operand of a comparison.
    func compile(operand: Expression) throws(StoreError) -> Compiled {
        guard bindsLate else { return try compile(operand) }
        switch operand.node {
        case .parameter(let name) where arguments[name] != nil:
            lateParameters.append(name)
            return .dynamic { (frame) throws(StoreError) in frame.arguments[name] }
        case .object(let fields):
            var values: [Compiled] = []
            for field in fields { values.append(try compile(operand: field.value)) }
            return try Self.object(fields.map(\.name), values, in: context)
        default: return try compile(operand)
        }
    }

    /// Returns the object with names and values, without those that are missing.
    private static func object(
        _ names: [String], _ values: [Compiled], in context: FunctionContext
    ) throws(StoreError) -> Compiled {
        try Compiled.combine(values, in: context) { (values, _) throws(StoreError) in
            var object: [Object.Field] = []
            for (name, value) in zip(names, values) {
                if let value { object.append(Object.Field(name, value)) }
            }
            return try ComputedValueSize.checked(.object(Object(sorting: object)))
        }
    }

    func compile(_ expressions: [Expression]) throws(StoreError) -> [Compiled] {
        var compiled: [Compiled] = []
        for expression in expressions { compiled.append(try compile(expression)) }
        return compiled
    }

    /// Returns the value of an expression that must not depend on rows, or throws.
    func constant(
        _ expression: Expression, for clause: String
    ) throws(StoreError) -> Value? {
        switch try compile(expression) {
        case .constant(let value): return value
        case .dynamic(let evaluator):
            // Loops and CASE are never compiled to constants, but without paths they need no row.
            var hasPath = false
            try expression.forEachPath { (_, _) throws(StoreError) in hasPath = true }
            guard !hasPath else {
                throw error(.meaning, "\(clause) must not depend on documents", expression)
            }
            let frame = RowContext(
                sourceCount: scope.members.count, variableCount: scope.variableCount,
                names: names, context: context)
            return try evaluator(frame)
        }
    }

    /// Returns a hint for a missing argument, such as a similar name.
    private func argumentHint(_ name: String) -> String? {
        if arguments[":" + name] != nil { return "name the argument \(name), without the colon" }
        // Short names are too similar to each other.
        let names = arguments.fields.map(\.name).filter { $0.utf8.count > 2 && !$0.hasPrefix("$") }
        return Suggestion.nearest(to: name, among: names.sorted())
            .map { "there is an argument \($0)" }
    }

    func error(
        _ reason: StoreError.Reason, _ message: String, hint: String? = nil,
        _ expression: Expression
    ) -> StoreError {
        StoreError(reason, message, hint: hint, at: expression.range, in: scope.text)
    }

    // MARK: Paths

    private func compile(path: [String], at range: SourceRange) throws(StoreError) -> Compiled {
        let target = try scope.resolve(path, at: range)
        if groups != nil {
            guard case .variable = target else {
                throw StoreError(
                    .meaning,
                    "\(path.joined(separator: ".")) is neither in GROUP BY nor in an aggregate",
                    hint: "add it to GROUP BY", at: range, in: scope.text)
            }
        }
        switch target {
        case .variable(let index, let rest):
            return .dynamic { (frame) throws(StoreError) in
                Operators.value(at: rest[...], of: frame.variables[index])
            }
        case .row(let source):
            let types = scope.members[source].types
            return .dynamic { (frame) throws(StoreError) in
                try frame.rows[source].object(types, frame.names).map(Value.object)
            }
        case .id(let source, let rest):
            guard !rest.isEmpty else {
                return .dynamic { (frame) throws(StoreError) in
                    try frame.rows[source].idValue()
                }
            }
            let path = IDPath(rest)
            return .dynamic { (frame) throws(StoreError) in
                guard let id = frame.rows[source].id else {
                    return Operators.value(at: rest[...], of: try frame.rows[source].idValue())
                }
                return try onDocument(at: frame.rows[source].position) { () throws(Malformed) in
                    try path.value(in: id)
                }
            }
        case .field(let source, let path):
            let followed = scope.members[source].types.path(path, in: names)
            if let types = scope.members[source].types.typesOfMap(at: path) {
                return .dynamic { (frame) throws(StoreError) in
                    try Self.map(at: followed, types, path, frame.rows[source], frame.names)
                }
            }
            return .dynamic { (frame) throws(StoreError) in
                if let fields = frame.rows[source].fields {
                    let names = frame.names
                    return try onDocument(at: frame.rows[source].position) { () throws(Malformed) in
                        try followed.value(in: fields, names)
                    }
                }
                return try frame.rows[source].content?.value(at: path)
            }
        }
    }

    /// Returns the value of a map with declared fields, of which some may be hidden.
    private static func map(
        at followed: FieldPath, _ types: FieldTypes, _ path: [String], _ row: Row,
        _ names: NameTable
    ) throws(StoreError) -> Value? {
        guard let fields = row.fields else { return try row.content?.value(at: path) }
        return try onDocument(at: row.position) { () throws(Malformed) in
            guard let entry = try followed.find(in: fields), let map = try entry.map() else {
                return nil
            }
            return .object(try types.value(of: map, names, depth: path.count + 1))
        }
    }

    /// Returns the path of an expression that is a visible field of the first source, or nil.
    func field(_ expression: Expression) throws(StoreError) -> FieldPath? {
        guard groups == nil, case .path(let names) = expression.node,
            case .field(0, let path) = try scope.resolve(names, at: expression.range)
        else { return nil }
        let types = scope.members[0].types
        return types.isShown(path) ? types.path(path, in: self.names) : nil
    }

    /// Returns the path of an expression that is a visible field, or a part of the id, of the first
    /// source; nil for other expressions.
    func columnPath(_ expression: Expression) throws(StoreError) -> ColumnPath? {
        if let path = try field(expression) { return .field(path) }
        guard groups == nil, case .path(let names) = expression.node,
            case .id(0, let rest) = try scope.resolve(names, at: expression.range), !rest.isEmpty
        else { return nil }
        return .id(IDPath(rest))
    }

    // MARK: Choices

    private func compile(_ conditional: Conditional) throws(StoreError) -> Compiled {
        var subject: Evaluator?
        if let expression = conditional.subject { subject = try compile(expression).evaluator }
        var branches: [(when: Evaluator, then: Evaluator)] = []
        for branch in conditional.branches {
            branches.append(
                (try compile(branch.when).evaluator, try compile(branch.then).evaluator))
        }
        var otherwise: Evaluator = { (_) throws(StoreError) in .null }
        if let expression = conditional.otherwise {
            otherwise = try compile(expression).evaluator
        }
        let last = otherwise
        let choices = branches
        return .dynamic { (frame) throws(StoreError) in
            let value = try subject?(frame)
            for (when, then) in choices {
                let candidate = try when(frame)
                let isReceived =
                    subject == nil
                    ? Truth(candidate) == .yes : Operators.matches(value ?? nil, candidate)
                if isReceived { return try then(frame) }
            }
            return try last(frame)
        }
    }

    // MARK: Functions

    private func compile(_ call: Call, at range: SourceRange) throws(StoreError)
        -> Compiled
    {
        if let kind = AggregateKind(rawValue: call.name) {
            return try compile(aggregate: kind, call, at: range)
        }
        guard let function = Functions.named(call.name) else {
            let near = Functions.suggestion(for: call.name)
            throw StoreError(
                .meaning, "there is no function \(call.name)",
                hint: near.map { "did you mean \($0)?" }, page: "functions", at: range,
                in: scope.text)
        }
        guard !call.isDistinct, !call.isStar else {
            throw StoreError(
                .meaning, "only aggregates take DISTINCT or *; \(call.name) is not an aggregate",
                at: range, in: scope.text)
        }
        guard function.argumentCount.contains(call.arguments.count) else {
            throw StoreError(
                .meaning,
                "\(call.name) takes \(function.expectedArguments), not \(call.arguments.count)",
                at: range, in: scope.text)
        }
        if function.readsClock { readsClock = true }
        let operands = try compile(call.arguments)
        if let special = try compilePattern(call, operands, at: range) { return special }
        let text = scope.text
        return try Compiled.combine(operands, in: context) {
            (values, context) throws(StoreError) in
            try context.charge(values)
            do throws(StoreError) {
                let result = try function.evaluate(values, context)
                try context.charge(result)
                return result
            } catch {
                throw error.located(at: range, in: text)
            }
        }
    }

    /// Compiles `regexp_like` with a constant pattern, so that the pattern is parsed only once.
    private func compilePattern(
        _ call: Call, _ operands: [Compiled], at range: SourceRange
    ) throws(StoreError) -> Compiled? {
        guard call.name == "regexp_like", case .constant(.string(let pattern)?) = operands[1]
        else { return nil }
        var flags = ""
        for operand in operands.dropFirst(2) {
            guard case .constant(.string(let text)?) = operand else { return nil }
            flags += text
        }
        let matcher: TextPattern
        do throws(PatternError) {
            matcher = try TextPattern.regularExpression(pattern, flags: flags)
        } catch {
            let error = StoreError(error)
            throw StoreError(
                error.reason, error.message, hint: error.hint, at: range, in: scope.text)
        }
        return try operands[0].map(in: context) { (value, context) throws(StoreError) in
            guard case .string(let text)? = value else { return value == .null ? .null : nil }
            try context.charge(pattern: pattern.utf8.count, on: text)
            return .bool(
                try StoreError.ofPatterns { () throws(PatternError) in try matcher.matches(text) })
        }
    }

    private func compile(
        aggregate kind: AggregateKind, _ call: Call, at range: SourceRange
    ) throws(StoreError) -> Compiled {
        guard var groups else {
            throw StoreError(
                .meaning, "the aggregate \(kind.rawValue.uppercased()) is not allowed here",
                hint: "aggregates are allowed in columns, HAVING and ORDER BY", at: range,
                in: scope.text)
        }
        guard call.isStar ? kind == .count : call.arguments.count == 1 else {
            throw StoreError(
                .meaning,
                "\(kind.rawValue.uppercased()) takes one value"
                    + (kind == .count ? ", or *" : ""), at: range, in: scope.text)
        }
        // The argument is evaluated for rows, not for groups.
        self.groups = nil
        defer { self.groups = groups }
        let operand = try call.isStar ? nil : compile(call.arguments[0]).evaluator
        let path = try call.isStar ? nil : columnPath(call.arguments[0])
        let index = groups.add(
            GroupScope.Column(
                kind: kind, isDistinct: call.isDistinct, operand: operand, path: path))
        return .dynamic { (frame) throws(StoreError) in frame.aggregates[index] }
    }
}

extension Function {
    /// The accepted number of arguments as text, such as `1 argument`.
    fileprivate var expectedArguments: String {
        let (least, most) = (argumentCount.lowerBound, argumentCount.upperBound)
        if least == most { return least == 1 ? "1 argument" : "\(least) arguments" }
        if most == Function.anyNumber {
            return "at least \(least) argument" + (least == 1 ? "" : "s")
        }
        return "\(least) to \(most) arguments"
    }
}
