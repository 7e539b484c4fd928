import Sheaf
import SheafBytes

/// A document that a closure may change; of use within that closure.
public final class DittoMutableDocument {
    private(set) var content: Value
    /// What was done to it, in its order.
    private(set) var changes: [Change] = []
    /// What could not be done; then nothing is.
    private(set) var problem: DittoError?

    /// A change of one field.
    struct Change {
        /// Names alone: arrays are written as a whole.
        let field: [String]
        /// What the field becomes; nil where it goes.
        let value: Value?
        /// Whether an object was there, which would be merged with a new one.
        let replacesObject: Bool
        let result: DittoUpdateResult
    }

    init(_ content: Object) {
        self.content = .object(content)
    }

    /// The id of the document.
    public var id: DittoDocumentID { DittoDocumentID(content["_id"] ?? .null) }

    /// The fields as Foundation has them, with all that was changed so far.
    public var value: [String: Any?] {
        if case .object(let object) = content { object.dittoValue } else { [:] }
    }

    /// A field, to look at, to change or to go on from.
    public subscript(key: String) -> DittoMutableDocumentPath {
        get { DittoMutableDocumentPath(self, [.name(key)]) }
        set { change([.name(key)], to: newValue.current) }
    }

    /// Sets what is at the end of some steps, or removes it.
    func change(_ steps: [PathStep], to value: Result<Value?, Unbridgeable>) {
        let path = PathStep.text(of: steps)
        let new: Value?
        switch value {
        case .success(let value): new = value
        case .failure(let error):
            problem = problem ?? DittoError(content: error.within(.name(path)))
            return
        }
        // Nothing is there to be removed.
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

/// What was done to a document.
public enum DittoUpdateResult: Sendable {
    /// A value was set.
    case set(docID: DittoDocumentID, path: String, value: DittoDocumentPath)
    /// A value was removed.
    case removed(docID: DittoDocumentID, path: String)

    /// The document.
    public var documentID: DittoDocumentID {
        switch self {
        case .set(let id, _, _), .removed(let id, _): id
        }
    }
}

extension DittoStore {
    /// Lets `body` change documents, and writes what it changed, in one transaction.
    func update(
        _ query: PendingQuery, _ body: ([DittoMutableDocument]) -> Void
    ) throws -> [DittoUpdateResult] {
        let statement = try query.statement("SELECT *")
        var results: [DittoUpdateResult] = []
        try sheaf.transactionBlocking(hint: "update of \(query.collection)") { transaction in
            let found = try transaction.executeBlocking(statement.query, statement.arguments)
            let documents = try found.items.map { DittoMutableDocument(try $0.value) }
            if documents.isEmpty {
                // Refused where the collection cannot be changed; a SELECT finds nothing there.
                let check: Query =
                    "UPDATE \(identifier: query.collection) UNSET nothing WHERE FALSE"
                try transaction.executeBlocking(check)
            }
            // The id is read before `body` can set another one.
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
    /// The statements that make this change.
    fileprivate func updates(of collection: String, _ id: DittoDocumentID) -> [Statement] {
        let path = Query(verbatim: field.map(\.inBackticks).joined(separator: "."))
        let start: Query = "UPDATE \(identifier: collection)"
        let remove = Statement(
            older: "\(part: start) UNSET \(part: path) WHERE _id = :id", ["id": id.sheafValue])
        guard let value else { return [remove] }
        let set = Statement(
            older: "\(part: start) SET \(part: path) = :value WHERE _id = :id",
            ["id": id.sheafValue, "value": value])
        return replacesObject ? [remove, set] : [set]
    }
}
