import SheafDocument
import Synchronization

/// How a statement is run without a plan: one about the document of an `_id`, or one that inserts
/// documents that are given whole.
///
/// What is unusual about a run, like an argument that is missing, is left to a plan, which comes to
/// the same rows, changes and errors.
package enum Shortcut: Sendable {
    case lookup(Lookup)
    case insertion(Insertion)

    enum Action: Sendable {
        case select
        /// None of the drafts, where the values have to be computed.
        case update([EditDraft]?, returnsRows: Bool)
        /// Whether the document has to be seen first: what was evicted leaves nothing, and what was
        /// deleted does. And rows are made of what was there before.
        case delete(needsLook: Bool)
    }

    /// How the document is found, and what is done with it.
    ///
    /// Objects, as they are handed around with each run.
    package final class Lookup: Sendable {
        let collection: Name
        let id: Operand
        let action: Action
        /// The number that the collection had where it was looked up last.
        private let lastNumber = Atomic<UInt16>(0)

        fileprivate init(_ collection: Name, _ id: Operand, _ action: Action) {
            self.collection = collection
            self.id = id
            self.action = action
        }

        /// Which of the collections it is about, which is mostly the same one as before; where not,
        /// `find` tells.
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

    /// What is inserted.
    package final class Insertion: Sendable {
        let insert: Insert
        let documents: [(operand: Operand, range: SourceRange)]
        /// The statement.
        let text: String

        fileprivate init(
            _ insert: Insert, _ documents: [(operand: Operand, range: SourceRange)],
            in text: String
        ) {
            self.insert = insert
            self.documents = documents
            self.text = text
        }
    }

    /// How the document is found that a SELECT asks for.
    var selection: Lookup? {
        guard case .lookup(let lookup) = self, case .select = lookup.action else { return nil }
        return lookup
    }

    /// None where the statement takes a plan.
    init?(_ body: Statement.Body, directives: [Object], in text: String) {
        guard Directives.areLenient(directives), let found = Self.shortcut(for: body, in: text)
        else {
            return nil
        }
        self = found
    }

    private static func shortcut(for body: Statement.Body, in text: String) -> Shortcut? {
        switch body {
        case .select(let select):
            guard select.isWholeDocument else { return nil }
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
                .delete(needsLook: delete.isEviction || !delete.returning.isEmpty))
        case .insert(let insert): return insertion(insert, in: text)
        default: return nil
        }
    }

    private static func lookup(
        _ source: Source, _ condition: Expression?, _ action: @autoclosure () -> Action
    ) -> Shortcut? {
        guard source.isPlain, let condition, let id = id(in: condition, of: source) else {
            return nil
        }
        return .lookup(Lookup(source.name, id, action()))
    }

    /// What `_id` is compared with, where that is the whole condition.
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

    private static func insertion(_ insert: Insert, in text: String) -> Shortcut? {
        guard insert.source.isPlain, case .expressions(let expressions) = insert.documents
        else { return nil }
        var documents: [(operand: Operand, range: SourceRange)] = []
        for expression in expressions {
            guard let operand = Operand(expression) else { return nil }
            documents.append((operand, expression.range))
        }
        return .insertion(Insertion(insert, documents, in: text))
    }
}

/// A value that is known when a statement is run: a literal or an argument.
enum Operand: Sendable {
    case literal(Value)
    case parameter(String)

    init?(_ expression: Expression) {
        switch expression.node {
        case .literal(let value): self = .literal(value)
        case .parameter(let name): self = .parameter(name)
        default: return nil
        }
    }

    /// None where the argument is missing.
    func value(_ arguments: ArgumentValues) -> Value? {
        switch self {
        case .literal(let value): value
        case .parameter(let name): arguments[name]
        }
    }
}

extension Value {
    private static let longestID = 256

    /// Whether it is the `_id` of one document at most, and that of no other value.
    var isFoundAlone: Bool {
        switch self {
        case .bool, .integer: true
        // What is too long to be an id is not looked up like one.
        case .string(let text): text.utf8.count <= Self.longestID
        case .float, .null, .bytes, .array, .object: false
        }
    }
}

extension Source {
    /// Whether it is a collection of documents, and nothing else is said of it.
    fileprivate var isPlain: Bool {
        types.isEmpty && ids == nil && index == nil && directives.isEmpty
            && !PlanEnvironment.isVirtual(self) && !PlanEnvironment.isReserved(self)
    }
}

extension Ordering {
    fileprivate var isEmpty: Bool { terms.isEmpty && limit == nil && offset == nil }
}

extension Select {
    /// Whether it asks for documents as they are, and in no order.
    fileprivate var isWholeDocument: Bool {
        guard columns.count == 1, case .all(nil, _) = columns[0] else { return false }
        return !isDistinct && joins.isEmpty && groups.isEmpty && having == nil
            && ordering.isEmpty
    }
}
