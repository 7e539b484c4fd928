import Sheaf

/// A collection with the query-builder calls of the reference system.
///
/// Conditions are translated to the query language. The calls block the thread: writes wait for
/// other transactions and for the disk. In a task use `DittoStore.execute`, which does not block a
/// thread of the task pool.
public final class DittoCollection: Sendable {
    /// The name of the collection.
    public let name: String
    let store: DittoStore

    init(_ name: String, of store: DittoStore) {
        self.name = name
        self.store = store
    }

    /// Writes a document and returns its id, which is generated if the content has none.
    @discardableResult
    public func upsert(
        _ content: [String: Any?], writeStrategy: DittoWriteStrategy = .merge
    ) throws -> DittoDocumentID {
        let document: Object
        do throws(Unbridgeable) {
            document = try Object(bridging: content)
        } catch {
            throw DittoError(content: error)
        }
        let collection: DQL = "\(identifier: name)"
        let insertion: DQL =
            switch writeStrategy {
            case .merge: "INSERT INTO \(part: collection) DOCUMENTS (:d) ON ID CONFLICT DO MERGE"
            case .insertIfAbsent:
                "INSERT INTO \(part: collection) DOCUMENTS (:d) ON ID CONFLICT DO NOTHING"
            case .insertDefaultIfAbsent: "INSERT INTO \(part: collection) INITIAL DOCUMENTS (:d)"
            case .updateDifferentValues:
                "INSERT INTO \(part: collection) DOCUMENTS (:d) ON ID CONFLICT DO UPDATE_LOCAL_DIFF"
            }
        do {
            let result = try store.write(DittoStatement(older: insertion, ["d": .object(document)]))
            // With some strategies an existing document is not written and not among the mutated
            // ones.
            let id = result.mutatedDocumentIDs.first ?? document["_id"]
            return DittoDocumentID(id ?? .null)
        } catch {
            throw DittoError.translated(error)
        }
    }

    /// Selects the documents that match a condition, such as `color == 'red' && mileage < 1000`.
    ///
    /// The operators are `== != < <= > >= && || !` and parentheses. Operands are paths such as
    /// `owner.name`, `tags[0]` and `["any key"]`, strings in either quotes, numbers, `true`,
    /// `false`, `null` and arrays. The functions are `starts_with`, `ends_with`, `regex`,
    /// `contains`, `length`, `keys` and `values`. A missing field equals null; other comparisons
    /// with it are false, `!=` included.
    public func find(_ query: String) -> DittoPendingCursorOperation {
        DittoPendingCursorOperation(self, query)
    }

    /// Selects the documents that match a condition, in which `$args.name` is an argument.
    public func find(_ query: String, args: [String: Any?]) -> DittoPendingCursorOperation {
        DittoPendingCursorOperation(self, query, args)
    }

    /// Selects all documents.
    public func findAll() -> DittoPendingCursorOperation {
        DittoPendingCursorOperation(self, "true")
    }

    /// Selects the document with an id.
    public func findByID(_ id: DittoDocumentID) -> DittoPendingIDSpecificOperation {
        DittoPendingIDSpecificOperation(self, id)
    }

    /// Selects the document with an id.
    public func findByID(_ id: Any) -> DittoPendingIDSpecificOperation {
        findByID((id as? DittoDocumentID) ?? DittoDocumentID(value: id))
    }
}

/// The effect of writing a document whose id exists.
public enum DittoWriteStrategy: Hashable, Sendable {
    /// Overwrites the fields that the new document contains, and keeps the others.
    case merge
    /// Keeps the existing document.
    case insertIfAbsent
    /// Keeps the existing document; a new one yields to all writes of other peers.
    case insertDefaultIfAbsent
    /// Overwrites the fields that differ.
    case updateDifferentValues
}

extension DittoStore {
    /// Returns a collection; it need not exist yet.
    public func collection(_ name: String) -> DittoCollection {
        DittoCollection(name, of: self)
    }

    /// Returns a collection; it need not exist yet.
    public subscript(name: String) -> DittoCollection { collection(name) }

    /// Runs a statement that writes, on this thread.
    func write(_ statement: DittoStatement) throws -> QueryResult {
        var result: QueryResult?
        try sheaf.transactionBlocking { transaction in
            result = try transaction.executeBlocking(statement.query, statement.arguments)
            return .commit
        }
        guard let result else { preconditionFailure("A transaction that was committed has run.") }
        return result
    }

    /// Runs a statement that reads, on this thread.
    func read(_ statement: DittoStatement) throws -> QueryResult {
        var result: QueryResult?
        try sheaf.transactionBlocking(isReadOnly: true) { transaction in
            result = try transaction.executeBlocking(statement.query, statement.arguments)
            return .commit
        }
        guard let result else { preconditionFailure("A transaction that did not throw has run.") }
        return result
    }
}
