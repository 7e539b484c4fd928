import Sheaf
import SheafBytes

/// A document that a closure may change; valid only within that closure.
public final class DittoMutableDocument {
    private(set) var content: Value
    /// The changes, in order.
    private(set) var changes: [Change] = []
    /// The first error; it discards all changes.
    private(set) var problem: DittoError?

    /// A change of one field.
    package struct Change {
        /// The path of the change, without indexes: arrays are replaced entirely.
        let field: [String]
        /// The new value; nil removes the field.
        let value: Value?
        /// Whether the old value is an object, with which a new object would be merged.
        let replacesObject: Bool
        let result: DittoUpdateResult
    }

    init(_ content: Object) {
        self.content = .object(content)
    }

    /// The id of the document.
    public var id: DittoDocumentID { DittoDocumentID(content["_id"] ?? .null) }

    /// The fields as Foundation values, including the changes.
    public var value: [String: Any?] {
        if case .object(let object) = content { object.dittoValue } else { [:] }
    }

    /// Returns the path to a field, which can be assigned.
    public subscript(key: String) -> DittoMutableDocumentPath {
        get { DittoMutableDocumentPath(self, [.name(key)]) }
        set { change([.name(key)], to: newValue.current) }
    }

    /// Sets or removes the value at a path.
    func change(_ steps: [PathStep], to value: Result<Value?, Unbridgeable>) {
        let path = PathStep.text(of: steps)
        let new: Value?
        switch value {
        case .success(let value): new = value
        case .failure(let error):
            problem = problem ?? DittoError(content: error.within(.name(path)))
            return
        }
        // Removing a missing value has no effect.
        if new == nil, content.element(at: steps) == nil { return }
        let names = steps.prefix { if case .name = $0 { true } else { false } }
        let before = content.element(at: names)
        guard let changed = content.replacing(steps[...], with: new) else {
            problem =
                problem
                ?? .storeError(
                    reason: .documentContentEncodingFailed(
                        message: "\(path.shortened): \(content.missingElement(at: steps))"
                    ))
            return
        }
        content = changed
        let result: DittoUpdateResult =
            new.map { .set(docID: id, path: path, value: DittoDocumentPath(found: $0)) }
            ?? .removed(docID: id, path: path)
        changes.append(
            Change(
                field: names.compactMap { if case .name(let name) = $0 { name } else { nil } },
                value: changed.element(at: names),
                replacesObject: before?.kind == .object, result: result))
    }
}

/// A change of a document.
public enum DittoUpdateResult: Sendable {
    /// A value was set.
    case set(docID: DittoDocumentID, path: String, value: DittoDocumentPath)
    /// A value was removed.
    case removed(docID: DittoDocumentID, path: String)

    /// The id of the document.
    public var documentID: DittoDocumentID {
        switch self {
        case .set(let id, _, _), .removed(let id, _): id
        }
    }
}

extension DittoStore {
    /// Lets `body` change the matching documents, and writes the changes in one transaction.
    func update(
        _ query: PendingQuery, _ body: ([DittoMutableDocument]) -> Void
    ) throws -> [DittoUpdateResult] {
        let statement = try query.statement("SELECT *")
        var results: [DittoUpdateResult] = []
        try sheaf.transactionBlocking(hint: "update of \(query.collection)") { transaction in
            let found = try transaction.executeBlocking(statement.query, statement.arguments)
            let documents = try found.items.map { DittoMutableDocument(try $0.value) }
            if documents.isEmpty {
                // UPDATE throws if the collection cannot be written; the SELECT found no documents.
                let check: DQL =
                    "UPDATE \(identifier: query.collection) UNSET nothing WHERE FALSE"
                try transaction.executeBlocking(check)
            }
            // The ids are read first, because `body` could change them.
            let ids = documents.map(\.id)
            body(documents)
            for (document, id) in zip(documents, ids) {
                if let problem = document.problem { throw problem }
                for change in document.changes {
                    for update in change.updates(of: query.collection, id) {
                        try transaction.executeBlocking(update.query, update.arguments)
                    }
                    results.append(change.result)
                }
            }
            return .commit
        }
        return results
    }
}

extension DittoMutableDocument.Change {
    /// Returns the statements that write this change.
    fileprivate func updates(of collection: String, _ id: DittoDocumentID) -> [DittoStatement] {
        let path = DQL(verbatim: field.map(\.inBackticks).joined(separator: "."))
        let start: DQL = "UPDATE \(identifier: collection)"
        let remove = DittoStatement(
            older: "\(part: start) UNSET \(part: path) WHERE _id = :id", ["id": id.sheafValue])
        guard let value else { return [remove] }
        let set = DittoStatement(
            older: "\(part: start) SET \(part: path) = :value WHERE _id = :id",
            ["id": id.sheafValue, "value": value])
        return replacesObject ? [remove, set] : [set]
    }
}
