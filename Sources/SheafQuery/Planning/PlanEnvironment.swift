import SheafBytes
import SheafDocument

/// The store, arguments and options with which the statements of a run are planned.
final class PlanEnvironment {
    let text: String
    let store: any QueryStore
    let arguments: ArgumentValues
    let context: FunctionContext
    let isStrict: Bool
    let directives: [Object]
    /// Maximum memory of the hash table of a join, in bytes.
    let maximumHashBytes: Int

    /// Cache of the collections looked up, by name.
    private var collections: [(name: String, description: CollectionDescription?)] = []
    /// The earlier states that sources read, by the positions of their names in the text.
    var pastStores: [Int: any QueryStore] = [:]

    private static let systemPrefix = "system:"

    init(
        text: String, store: any QueryStore, arguments: ArgumentValues,
        context: FunctionContext, isStrict: Bool, directives: [Object],
        maximumHashBytes: Int = QueryLimits.maximumHashBytes
    ) {
        self.text = text
        self.store = store
        self.arguments = arguments
        self.context = context
        self.isStrict = isStrict
        self.directives = directives
        self.maximumHashBytes = maximumHashBytes
    }

    func compiler() -> ExpressionCompiler {
        ExpressionCompiler(
            Scope(text: text), names: store.names, arguments: arguments, context: context)
    }

    /// Whether a source is a system collection.
    func isVirtual(_ source: Source) -> Bool { Self.isVirtual(source) }

    /// Whether a source is a system collection, determined by its name.
    static func isVirtual(_ source: Source) -> Bool {
        source.name.text.utf8.starts(with: systemPrefix.utf8)
            || source.name.text == "__collections"
    }

    /// Whether the name of a source begins with `__`, which is reserved for system collections.
    static func isReserved(_ source: Source) -> Bool {
        source.name.text.utf8.starts(with: "__".utf8)
    }

    /// Returns the name of a system collection without its namespace.
    func virtualName(_ source: Source) -> String {
        let name = source.name.text
        guard name.hasPrefix(Self.systemPrefix) else { return "collections" }
        return String(name.dropFirst(Self.systemPrefix.count))
    }

    /// Throws if a source is an unknown system collection.
    func checkVirtual(_ source: Source) throws(StoreError) {
        guard isVirtual(source) else { return }
        let (name, names) = (virtualName(source), store.virtualNames)
        guard !names.contains(name) else { return }
        let near = Suggestion.nearest(to: name, among: names)
        throw StoreError(
            .meaning, "there is no collection \(source.name.text)",
            hint: near.map { "did you mean system:\($0)?" }
                ?? "the reference of the language lists the system collections",
            page: "collections", at: source.name.range, in: text)
    }

    /// Returns the condition of a SELECT; system rows have no keys, so USE IDS becomes a condition.
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

    /// Returns the collection of a source; nil if it never had documents or is a system collection.
    func collection(_ source: Source) -> CollectionDescription? {
        if isVirtual(source) { return nil }
        let name = source.name.text
        guard source.asOf == nil else { return store(of: source).collection(name) }
        if let known = collections.first(where: { $0.name.isSpelled(name) }) {
            return known.description
        }
        let description = store.collection(name)
        collections.append((name, description))
        return description
    }

    /// Returns notes about the named indexes that the collection does not have, at most eight.
    func notes(_ names: [String], _ collection: CollectionDescription) -> [String] {
        let known = collection.indexes.map(\.name)
        let others = known.filter { !names.hasSpelling($0) }
        return names.filter { !known.hasSpelling($0) }.prefix(8).map { name in
            let near = Suggestion.nearest(to: name, among: others).map { ": did you mean \($0)?" }
            let shown = name.utf8.count <= 80 ? name : "of this name"
            return "\(collection.name) has no index \(shown)\(near ?? "")"
        }
    }

    /// Returns the keys of the ids in USE IDS, without duplicates.
    func keys(
        of ids: IDSelection, in collection: CollectionDescription,
        _ compiler: ExpressionCompiler
    ) throws(StoreError) -> [[UInt8]] {
        var values: [Value] = []
        switch ids {
        case .list(let expressions):
            for expression in expressions {
                if let value = try compiler.constant(expression, for: "an id in USE IDS") {
                    values.append(value)
                }
            }
        case .expression(let expression):
            let value = try compiler.constant(expression, for: "the list in USE IDS LIST")
            guard case .array(let elements)? = value else {
                throw compiler.error(.argument, "USE IDS LIST takes an array of ids", expression)
            }
            values = elements
        }
        var seen: Set<[UInt8]> = []
        return values.compactMap { value in
            // A value that is not a valid id matches no document.
            guard let key = try? DocumentID.key(of: value), seen.insert(key).inserted else {
                return nil
            }
            return collection.keyPrefix + key
        }
    }

    /// Returns the hints from USE INDEX and the directives of the statement and a source.
    func hints(_ source: Source) throws(StoreError) -> PlanHints {
        var hints = PlanHints()
        hints.indexes = source.indexes.map(\.text).filter { !$0.isEmpty }
        if Directives.strictness(in: source.directives) != nil {
            throw StoreError(
                .meaning, "\(Directives.strictMode) applies to a statement, not to a source",
                hint: "write it at the start of the statement", page: Directives.strictMode
            ).located(at: "\"\(Directives.strictMode)\"", in: text)
        }
        for directive in directives + source.directives {
            for field in directive {
                do throws(StoreError) { try Self.apply(field, to: &hints) } catch {
                    throw error.located(at: "\"\(field.name)\"", in: text)
                }
            }
        }
        return hints
    }

    /// Throws for invalid directives of joined collections; valid ones have no effect.
    func checkDirectives(ofJoins select: Select) throws(StoreError) {
        for join in select.joins where !join.source.directives.isEmpty {
            _ = try hints(join.source)
        }
    }

    /// Throws for invalid directives.
    static func check(_ directives: Object) throws(StoreError) {
        var hints = PlanHints()
        for field in directives { try apply(field, to: &hints) }
    }

    private static func apply(
        _ field: Object.Field, to hints: inout PlanHints
    ) throws(StoreError) {
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
        // `Statement` applies this directive; it changes the meaning of fields, not the plan.
        case (Directives.strictMode, .bool): break
        case (Directives.strictMode, _), ("#index", _), ("#disable_index_scan", _),
            ("#prefer_order", _), ("#intersects", _),
            ("#max_scans", _), ("#max_joins", _):
            throw StoreError(
                .meaning, "the directive \(field.name) cannot be \(field.value.json)",
                page: field.name.lowercased())
        default:
            let near = Suggestion.nearest(to: field.name, among: Directives.names)
            throw StoreError(
                .meaning, "there is no directive \(field.name)",
                hint: near.map { "did you mean \($0)?" }
                    ?? "the directives are \(Directives.names.dropLast().joined(separator: ", ")) "
                    + "and \(Directives.strictMode)", page: "directives")
        }
    }
}

extension ExpressionCompiler {
    /// Returns the number in LIMIT or OFFSET.
    func count(
        _ expression: Expression?, for clause: String
    ) throws(StoreError) -> Int? {
        guard let expression else { return nil }
        switch try constant(expression, for: clause) {
        case .integer(let count)? where count >= 0: return Int(count)
        case let value:
            throw error(
                .argument,
                "\(clause) takes a non-negative integer, not \(value?.json ?? "MISSING")",
                expression)
        }
    }
}
