import SheafBytes
import SheafDocument

/// What plans are made of besides the statement.
final class PlanEnvironment {
    let text: String
    let store: any QueryStore
    let arguments: ArgumentValues
    let context: FunctionContext
    let isStrict: Bool
    let directives: [Object]

    /// The collections that were asked for, by their names.
    private var collections: [(name: String, description: CollectionDescription?)] = []

    private static let systemPrefix = "system:"

    init(
        text: String, store: any QueryStore, arguments: ArgumentValues,
        context: FunctionContext, isStrict: Bool, directives: [Object]
    ) {
        self.text = text
        self.store = store
        self.arguments = arguments
        self.context = context
        self.isStrict = isStrict
        self.directives = directives
    }

    func compiler() -> ExpressionCompiler {
        ExpressionCompiler(
            Scope(text: text), names: store.names, arguments: arguments, context: context)
    }

    /// Whether a source is a collection of the system.
    func isVirtual(_ source: Source) -> Bool { Self.isVirtual(source) }

    /// The same, which depends on nothing but its name.
    static func isVirtual(_ source: Source) -> Bool {
        source.name.text.hasPrefix(systemPrefix) || source.name.text == "__collections"
    }

    /// Whether the name of a source begins with `__`, as those that are kept for the system.
    static func isReserved(_ source: Source) -> Bool { source.name.text.hasPrefix("__") }

    /// The name of a collection of the system, without its namespace.
    func virtualName(_ source: Source) -> String {
        let name = source.name.text
        guard name.hasPrefix(Self.systemPrefix) else { return "collections" }
        return String(name.dropFirst(Self.systemPrefix.count))
    }

    /// Refuses a collection of the system that there is none of.
    func checkVirtual(_ source: Source) throws(QueryError) {
        guard isVirtual(source) else { return }
        let (name, names) = (virtualName(source), store.virtualNames)
        guard !names.contains(name) else { return }
        let near = Suggestion.nearest(to: name, among: names)
        throw QueryError(
            .meaning, "there is no collection \(source.name.text)",
            hint: near.map { "did you mean system:\($0)?" }
                ?? "in system: there are \(names.joined(separator: ", "))",
            at: source.name.range, in: text)
    }

    /// The condition, with that of USE IDS where rows of the system have no keys to look up.
    func condition(of select: Select) -> Expression? {
        guard isVirtual(select.source), let ids = select.source.ids else {
            return select.condition
        }
        let range = select.source.name.range
        let list: Expression
        switch ids {
        case .list(let values): list = Expression(.array(values), at: range)
        case .expression(let expression): list = expression
        }
        let id = Expression(.path([Scope.name(of: select.source), Row.idName]), at: range)
        let isListed = Expression(.membership(id, of: list, isNegated: false), at: range)
        guard let condition = select.condition else { return isListed }
        return Expression(.and([condition, isListed]), at: condition.range)
    }

    /// The collection of a source; none where it has no documents yet, or is virtual.
    func collection(_ source: Source) -> CollectionDescription? {
        if isVirtual(source) { return nil }
        let name = source.name.text
        if let known = collections.first(where: { $0.name.isSpelled(name) }) {
            return known.description
        }
        let description = store.collection(name)
        collections.append((name, description))
        return description
    }

    /// Returns a note for each index that a statement names and that its collection does not have.
    func notes(_ names: [String], _ collection: CollectionDescription) -> [String] {
        let known = collection.indexes.map(\.name)
        let others = known.filter { !names.hasSpelling($0) }
        return names.filter { !known.hasSpelling($0) }.prefix(8).map { name in
            let near = Suggestion.nearest(to: name, among: others).map { ": did you mean \($0)?" }
            let shown = name.utf8.count <= 80 ? name : "of this name"
            return "\(collection.name) has no index \(shown)\(near ?? "")"
        }
    }

    /// The keys of the ids that USE IDS names, each once.
    func keys(
        of ids: IDSelection, in collection: CollectionDescription,
        _ compiler: ExpressionCompiler
    ) throws(QueryError) -> [[UInt8]] {
        var values: [Value] = []
        switch ids {
        case .list(let expressions):
            for expression in expressions {
                if let value = try compiler.constant(expression, for: "an id behind USE IDS") {
                    values.append(value)
                }
            }
        case .expression(let expression):
            let value = try compiler.constant(expression, for: "the list behind USE IDS LIST")
            guard case .array(let elements)? = value else {
                throw compiler.error(.argument, "USE IDS LIST takes an array of ids", expression)
            }
            values = elements
        }
        var seen: Set<[UInt8]> = []
        return values.compactMap { value in
            // What cannot be an id is the id of nothing.
            guard let key = try? DocumentID.key(of: value), seen.insert(key).inserted else {
                return nil
            }
            return collection.keyPrefix + key
        }
    }

    // MARK: Directives

    /// What directives say, those of the statement and those of a source.
    func hints(_ source: Source) throws(QueryError) -> PlanHints {
        var hints = PlanHints()
        hints.indexes = source.indexes.map(\.text).filter { !$0.isEmpty }
        if Directives.strictness(in: source.directives) != nil {
            throw QueryError(
                .meaning, "\(Directives.strictMode) holds for a statement, and not for one source",
                hint: "write it at the start of the statement"
            ).located(at: "\"\(Directives.strictMode)\"", in: text)
        }
        for directive in directives + source.directives {
            for field in directive {
                do throws(QueryError) { try Self.apply(field, to: &hints) } catch {
                    throw error.located(at: "\"\(field.name)\"", in: text)
                }
            }
        }
        return hints
    }

    /// Refuses unknown directives of collections that are joined, for which known ones choose nothing.
    func checkDirectives(ofJoins select: Select) throws(QueryError) {
        for join in select.joins where !join.source.directives.isEmpty {
            _ = try hints(join.source)
        }
    }

    /// Refuses directives that are none.
    static func check(_ directives: Object) throws(QueryError) {
        var hints = PlanHints()
        for field in directives { try apply(field, to: &hints) }
    }

    private static func apply(
        _ field: Object.Field, to hints: inout PlanHints
    ) throws(QueryError) {
        switch (field.name.lowercased(), field.value) {
        case ("#index", .string(let name)): hints.indexes = name.isEmpty ? [] : [name]
        case ("#index", .array(let values)) where values.allSatisfy { $0.kind == .string }:
            hints.indexes = values.compactMap {
                if case .string(let name) = $0, !name.isEmpty { name } else { nil }
            }
        case ("#disable_index_scan", .bool(let value)): hints.disablesIndexes = value
        case ("#prefer_order", .bool(let value)): hints.prefersOrder = value
        case ("#intersects", .bool(let value)): hints.intersects = value
        case ("#max_scans", .integer(let value)) where value > 0:
            hints.maximumScans = Int(clamping: value)
        case ("#max_joins", .integer(let value)) where value >= 0:
            hints.maximumJoins = min(Int(clamping: value), QueryLimits.maximumJoins)
        // `Statement` reads it: it changes what fields mean, and no plan.
        case (Directives.strictMode, .bool): break
        case (Directives.strictMode, _), ("#index", _), ("#disable_index_scan", _),
            ("#prefer_order", _), ("#intersects", _),
            ("#max_scans", _), ("#max_joins", _):
            throw QueryError(.meaning, "the directive \(field.name) cannot be \(field.value.json)")
        default:
            throw QueryError(
                .meaning, "there is no directive \(field.name)",
                hint: "there are #index, #disable_index_scan, #prefer_order, #max_scans, "
                    + "#intersects, #max_joins and #strict_mode")
        }
    }
}

extension ExpressionCompiler {
    /// The number behind LIMIT or OFFSET.
    func count(
        _ expression: Expression?, for place: String
    ) throws(QueryError) -> Int? {
        guard let expression else { return nil }
        switch try constant(expression, for: place) {
        case .integer(let count)? where count >= 0: return Int(count)
        case let value:
            throw error(
                .argument,
                "\(place) takes an integer from 0 on, and not \(value?.json ?? "MISSING")",
                expression)
        }
    }
}
