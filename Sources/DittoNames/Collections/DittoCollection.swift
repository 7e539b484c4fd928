import Sheaf

/// The documents of a collection, as the older calls of the reference system know them.
///
/// Their strings are translated into the query language. The calls run on the thread of the caller, and keep
/// it until they are done: those that change something wait for transactions, and for the disk. In a task
/// `DittoStore.execute` is the better call: threads of tasks are few, and shall not wait.
public final class DittoCollection: Sendable {
    /// What the collection is called.
    public let name: String
    let store: DittoStore

    init(_ name: String, of store: DittoStore) {
        self.name = name
        self.store = store
    }

    /// Writes a document, and returns its id, which is made where the content has none.
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
        let collection: Query = "\(identifier: name)"
        let insertion: Query =
            switch writeStrategy {
            case .merge: "INSERT INTO \(part: collection) DOCUMENTS (:d) ON ID CONFLICT DO MERGE"
            case .insertIfAbsent:
                "INSERT INTO \(part: collection) DOCUMENTS (:d) ON ID CONFLICT DO NOTHING"
            case .insertDefaultIfAbsent: "INSERT INTO \(part: collection) INITIAL DOCUMENTS (:d)"
            case .updateDifferentValues:
                "INSERT INTO \(part: collection) DOCUMENTS (:d) ON ID CONFLICT DO UPDATE_LOCAL_DIFF"
            }
        do {
            let result = try store.write(Statement(older: insertion, ["d": .object(document)]))
            // What was there already may not have been written.
            let id = result.mutatedDocumentIDs.first ?? document["_id"]
            return DittoDocumentID(id ?? .null)
        } catch {
            throw DittoError.translated(error)
        }
    }

    /// The documents for which a condition holds, such as `color == 'red' && mileage < 1000`.
    ///
    /// There are `== != < <= > >= && || !` and parentheses; paths such as `owner.name`, `tags[0]` and
    /// `["any key"]`; texts in either quotes, numbers, `true`, `false`, `null` and arrays; and
    /// `starts_with`, `ends_with`, `regex`, `contains`, `length`, `keys` and `values`. What is missing
    /// equals null, and is otherwise neither equal nor unequal to anything.
    public func find(_ query: String) -> DittoPendingCursorOperation {
        DittoPendingCursorOperation(self, query)
    }

    /// The documents for which a condition holds, in which `$args.name` stands for an argument.
    public func find(_ query: String, args: [String: Any?]) -> DittoPendingCursorOperation {
        DittoPendingCursorOperation(self, query, args)
    }

    /// All documents.
    public func findAll() -> DittoPendingCursorOperation {
        DittoPendingCursorOperation(self, "true")
    }

    /// The document of an id.
    public func findByID(_ id: DittoDocumentID) -> DittoPendingIDSpecificOperation {
        DittoPendingIDSpecificOperation(self, id)
    }

    /// The document of an id.
    public func findByID(_ id: Any) -> DittoPendingIDSpecificOperation {
        findByID((id as? DittoDocumentID) ?? DittoDocumentID(value: id))
    }
}

/// What a written document does to one that has its id.
public enum DittoWriteStrategy: Hashable, Sendable {
    /// Its fields are written over those that are there; other fields stay.
    case merge
    /// Nothing.
    case insertIfAbsent
    /// Nothing; and whatever others write to it counts more.
    case insertDefaultIfAbsent
    /// Those of its fields are written that differ.
    case updateDifferentValues
}

extension DittoStore {
    /// A collection; it is there as soon as it has a document.
    public func collection(_ name: String) -> DittoCollection {
        DittoCollection(name, of: self)
    }

    /// A collection; it is there as soon as it has a document.
    public subscript(name: String) -> DittoCollection { collection(name) }

    /// Runs a statement that writes, on this thread.
    func write(_ statement: Statement) throws -> QueryResult {
        var result: QueryResult?
        try sheaf.transactionBlocking { transaction in
            result = try transaction.executeBlocking(statement.query, statement.arguments)
            return .commit
        }
        guard let result else { preconditionFailure("A transaction that was committed has run.") }
        return result
    }

    /// Runs a statement that reads, on this thread.
    func read(_ statement: Statement) throws -> QueryResult {
        var result: QueryResult?
        try sheaf.transactionBlocking(isReadOnly: true) { transaction in
            result = try transaction.executeBlocking(statement.query, statement.arguments)
            return .commit
        }
        guard let result else { preconditionFailure("A transaction that did not throw has run.") }
        return result
    }
}
