import Sheaf

/// The documents that match a condition, and the operations on them.
///
/// Errors are passed to `onUnthrownError` of the store, since these calls cannot throw; the result
/// is then empty.
public final class DittoPendingCursorOperation: Sendable {
    let store: DittoStore
    let query: PendingQuery

    init(_ collection: DittoCollection, _ condition: String, _ arguments: [String: Any?] = [:]) {
        store = collection.store
        var values: [String: Value] = [:]
        do throws(Unbridgeable) {
            values = try [String: Value](bridging: arguments)
        } catch {
            // A condition that uses the arguments is then invalid, so the operation has no effect.
            store.errorHandler.report(DittoError(argument: error))
        }
        query = PendingQuery(
            collection: collection.name, condition: condition, arguments: values)
    }

    private init(_ store: DittoStore, _ query: PendingQuery) {
        self.store = store
        self.query = query
    }

    private func with(_ change: (inout PendingQuery) -> Void) -> DittoPendingCursorOperation {
        var query = query
        change(&query)
        return DittoPendingCursorOperation(store, query)
    }

    /// Limits the number of documents.
    public func limit(_ limit: Int32) -> DittoPendingCursorOperation {
        with { $0.limit = Int(limit) }
    }

    /// Skips the first documents.
    public func offset(_ offset: UInt32) -> DittoPendingCursorOperation {
        with { $0.offset = Int(offset) }
    }

    /// Sorts the documents by a field.
    ///
    /// Further calls add fields that order documents with equal values.
    public func sort(
        _ query: String, direction: DittoSortDirection
    ) -> DittoPendingCursorOperation {
        with { $0.orders.append((query, direction == .descending)) }
    }

    /// Returns the documents.
    public func exec() -> [DittoDocument] {
        store.errorHandler.returning([]) {
            try store.read(query.statement("SELECT *")).items.map { DittoDocument(try $0.value) }
        }
    }

    /// Deletes the documents, on all peers; returns their ids.
    @discardableResult
    public func remove() -> [DittoDocumentID] {
        write("DELETE")
    }

    /// Removes the documents from this store only; returns their ids.
    @discardableResult
    public func evict() -> [DittoDocumentID] {
        write("EVICT")
    }

    private func write(_ verb: DQL) -> [DittoDocumentID] {
        store.errorHandler.returning([]) {
            try store.write(query.statement(verb)).mutatedDocumentIDs.map { DittoDocumentID($0) }
        }
    }

    /// Lets `closure` change the documents in one transaction; returns the changes by id.
    @discardableResult
    public func update(
        _ closure: (_ documents: [DittoMutableDocument]) -> Void
    ) -> [DittoDocumentID: [DittoUpdateResult]] {
        store.errorHandler.returning([:]) {
            let results = try store.update(query) { closure($0) }
            return Dictionary(results.map { ($0.documentID, [$0]) }, uniquingKeysWith: +)
        }
    }
}

/// A sort direction.
public enum DittoSortDirection: Hashable, Sendable {
    /// The smallest value first.
    case ascending
    /// The greatest value first.
    case descending
}
