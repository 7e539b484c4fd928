import SheafDocument
import Synchronization

/// The fast path of a statement: a point lookup by `_id`, or an insertion of given documents.
///
/// Unusual runs, such as those with a missing argument, fall back to a plan, which yields the same
/// rows, changes and errors.
package enum FastPath: Sendable {
    case lookup(Lookup)
    case insertion(Insertion)

    enum Action: Sendable {
        case select
        /// An update; the drafts are nil if the assignments need a plan.
        case update([EditDraft]?, returnsRows: Bool)
        /// A deletion.
        ///
        /// `needsRead` is true for EVICT and RETURNING, which must read the document first.
        case delete(needsRead: Bool)
    }

    /// A point lookup by `_id`, with its action.
    ///
    /// It is a class because every run passes it around.
    package final class Lookup: Sendable {
        let collection: Name
        let id: Operand
        let action: Action
        /// Number of the collection in the store of the last run.
        private let lastNumber = Atomic<UInt16>(0)

        fileprivate init(_ collection: Name, _ id: Operand, _ action: Action) {
            self.collection = collection
            self.id = id
            self.action = action
        }

        /// Returns the number of the collection, usually that of the last run; calls `find`
        /// otherwise.
        package func number(
            among collections: [String], orBy find: (_ name: String) -> UInt16?
        ) -> UInt16? {
            let last = lastNumber.load(ordering: .relaxed)
            if last < collections.count, collections[Int(last)].isSpelled(collection.text) {
                return last
            }
            let number = find(collection.text)
            if let number { lastNumber.store(number, ordering: .relaxed) }
            return number
        }
    }

    /// An insertion of documents that are literals or arguments.
    package final class Insertion: Sendable {
        /// A document of the statement.
        struct Document: Sendable {
            let operand: Operand
            /// Whether the operand is a JSON text, the argument of `deserialize_json`.
            let isJSON: Bool
            let range: SourceRange

            /// Returns the document or documents; nil if an argument is missing or invalid.
            func value(_ arguments: ArgumentValues) -> Value? {
                let value = operand.value(arguments)
                guard isJSON else { return value }
                guard case .string(let text)? = value else { return nil }
                return try? Value(json: text)
            }
        }

        let insert: Insert
        let documents: [Document]
        /// Whether one of the documents is a JSON text.
        let hasJSONText: Bool
        /// The text of the statement.
        let text: String

        fileprivate init(_ insert: Insert, _ documents: [Document], in text: String) {
            hasJSONText = documents.contains(where: \.isJSON)
            self.insert = insert
            self.documents = documents
            self.text = text
        }
    }

    /// The point lookup of a SELECT; nil for other statements.
    var selection: Lookup? {
        guard case .lookup(let lookup) = self, case .select = lookup.action else { return nil }
        return lookup
    }

    /// Creates the fast path of a statement; returns nil if the statement needs a plan.
    init?(_ body: Statement.Body, directives: [Object], in text: String) {
        guard Directives.areLenient(directives), let found = Self.fastPath(for: body, in: text)
        else {
            return nil
        }
        self = found
    }

    private static func fastPath(for body: Statement.Body, in text: String) -> FastPath? {
        switch body {
        case .select(let select):
            guard select.isCompleteDocument else { return nil }
            return lookup(select.source, select.condition, .select)
        case .update(let update):
            return lookup(
                update.source, update.condition,
                .update(
                    EditDraft.drafts(of: update, in: text),
                    returnsRows: !update.returning.isEmpty))
        case .delete(let delete):
            guard delete.ordering.isEmpty else { return nil }
            return lookup(
                delete.source, delete.condition,
                .delete(needsRead: delete.isEviction || !delete.returning.isEmpty))
        case .insert(let insert): return insertion(insert, in: text)
        default: return nil
        }
    }

    private static func lookup(
        _ source: Source, _ condition: Expression?, _ action: @autoclosure () -> Action
    ) -> FastPath? {
        guard source.isPlain, source.asOf == nil, let condition,
            let id = id(in: condition, of: source)
        else { return nil }
        return .lookup(Lookup(source.name, id, action()))
    }

    /// Returns the point lookup AS OF a commit or a time; nil if the statement needs a plan.
    static func pastLookup(_ body: Statement.Body, directives: [Object]) -> PastLookup? {
        guard Directives.areLenient(directives), case .select(let select) = body,
            select.isCompleteDocument, select.source.isPlain,
            let moment = select.source.asOf?.moment, let condition = select.condition,
            let id = id(in: condition, of: select.source)
        else { return nil }
        return PastLookup(lookup: Lookup(select.source.name, id, .select), moment: moment)
    }

    /// Returns the value compared with `_id`, if the condition is nothing but this comparison.
    private static func id(in condition: Expression, of source: Source) -> Operand? {
        guard case .comparison(.equal, let left, let right) = condition.node else { return nil }
        let sides = [(left, right), (right, left)]
        for (side, other) in sides where isID(side, of: source) {
            guard let operand = Operand(other) else { return nil }
            if case .literal(let value) = operand, !value.isFoundAlone { return nil }
            return operand
        }
        return nil
    }

    private static func isID(_ expression: Expression, of source: Source) -> Bool {
        guard case .path(let names) = expression.node, names.last?.isSpelled(Row.idName) == true
        else { return false }
        var scope = Scope(text: "")
        guard (try? scope.add(source, isStrict: false)) != nil,
            case .id(_, let rest)? = try? scope.resolve(names, at: expression.range)
        else { return false }
        return rest.isEmpty
    }

    private static func insertion(_ insert: Insert, in text: String) -> FastPath? {
        guard insert.source.isPlain, case .expressions(let expressions) = insert.documents
        else { return nil }
        var documents: [Insertion.Document] = []
        for expression in expressions {
            let json = expression.jsonOperand
            guard let operand = Operand(json ?? expression) else { return nil }
            documents.append(
                Insertion.Document(
                    operand: operand, isJSON: json != nil, range: expression.range))
        }
        return .insertion(Insertion(insert, documents, in: text))
    }
}

/// A point lookup by `_id` AS OF a commit or a time.
package struct PastLookup: Sendable {
    fileprivate enum Moment: Sendable {
        case commit(Operand)
        case time(Operand)
    }

    package let lookup: FastPath.Lookup
    fileprivate let moment: Moment

    /// Returns the state to read, or nil if the run needs a plan.
    package func point(_ arguments: ArgumentValues) -> PastPoint? {
        switch moment {
        case .commit(let operand): PastPoint(commit: operand.value(arguments))
        case .time(let operand): PastPoint(time: operand.value(arguments))
        }
    }
}

extension AsOf {
    /// The number or time as a literal or a parameter; nil for other expressions.
    fileprivate var moment: PastLookup.Moment? {
        switch self {
        case .commit(let expression): Operand(expression).map { .commit($0) }
        case .time(let expression): Operand(expression).map { .time($0) }
        }
    }
}

extension Expression {
    /// The operand of `deserialize_json`; nil for other expressions.
    fileprivate var jsonOperand: Expression? {
        guard case .call(let call) = node, call.name == "deserialize_json", !call.isDistinct,
            !call.isStar, call.arguments.count == 1
        else { return nil }
        return call.arguments[0]
    }
}

extension Source {
    /// Whether the source is a collection of documents without types, hints or directives.
    fileprivate var isPlain: Bool {
        types.isEmpty && ids == nil && index == nil && directives.isEmpty
            && !PlanEnvironment.isVirtual(self) && !PlanEnvironment.isReserved(self)
    }
}

extension Ordering {
    fileprivate var isEmpty: Bool { terms.isEmpty && limit == nil && offset == nil }
}

extension Select {
    /// Whether the statement selects all matching documents, complete and in any order.
    fileprivate var isCompleteDocument: Bool {
        guard columns.count == 1, case .all(nil, _) = columns[0] else { return false }
        return !isDistinct && joins.isEmpty && groups.isEmpty && having == nil
            && ordering.isEmpty
    }
}
