import Sheaf

/// Documents that were looked for, until somebody says what is to be done with them.
///
/// What is wrong with their condition goes to `onUnthrownError` of the store: these calls cannot throw.
public final class DittoPendingCursorOperation: Sendable {
    let store: DittoStore
    let query: PendingQuery

    init(_ collection: DittoCollection, _ condition: String, _ arguments: [String: Any?] = [:]) {
        store = collection.store
        var values: [String: Value] = [:]
        do throws(Unbridgeable) {
            values = try [String: Value](bridging: arguments)
        } catch {
            // The condition will miss its arguments, and nothing is done then.
            store.complaints.complain(DittoError(argument: error))
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

    /// At most so many of the documents.
    public func limit(_ limit: Int32) -> DittoPendingCursorOperation {
        with { $0.limit = Int(limit) }
    }

    /// The documents behind the first ones.
    public func offset(_ offset: UInt32) -> DittoPendingCursorOperation {
        with { $0.offset = Int(offset) }
    }

    /// The documents in the order of a field; a second call is for those that are equal by the first.
    public func sort(
        _ query: String, direction: DittoSortDirection
    ) -> DittoPendingCursorOperation {
        with { $0.orders.append((query, direction == .descending)) }
    }

    /// The documents.
    public func exec() -> [DittoDocument] {
        store.complaints.returning([]) {
            try store.read(query.statement("SELECT *")).items.map { DittoDocument(try $0.value) }
        }
    }

    /// Deletes the documents, here and with all peers; returns their ids.
    @discardableResult
    public func remove() -> [DittoDocumentID] {
        write("DELETE")
    }

    /// Removes the documents from this store alone; returns their ids.
    @discardableResult
    public func evict() -> [DittoDocumentID] {
        write("EVICT")
    }

    private func write(_ verb: Query) -> [DittoDocumentID] {
        store.complaints.returning([]) {
            try store.write(query.statement(verb)).mutatedDocumentIDs.map { DittoDocumentID($0) }
        }
    }

    /// Lets a closure change the documents, in one transaction; returns what was done to which.
    @discardableResult
    public func update(
        _ closure: (_ documents: [DittoMutableDocument]) -> Void
    ) -> [DittoDocumentID: [DittoUpdateResult]] {
        store.complaints.returning([:]) {
            let results = try store.update(query) { closure($0) }
            return Dictionary(results.map { ($0.documentID, [$0]) }, uniquingKeysWith: +)
        }
    }
}

/// The direction of an order.
public enum DittoSortDirection: Hashable, Sendable {
    /// The smallest first.
    case ascending
    /// The greatest first.
    case descending
}
