import Sheaf

/// The document with an id, and the operations on it.
///
/// Errors are passed to `onUnthrownError` of the store, since these calls cannot throw.
public final class DittoPendingIDSpecificOperation: Sendable {
    let store: DittoStore
    let query: PendingQuery

    init(_ collection: DittoCollection, _ id: DittoDocumentID) {
        store = collection.store
        query = PendingQuery(
            collection: collection.name, condition: "_id == $args.id",
            arguments: ["id": id.sheafValue])
    }

    /// Returns the document, or nil if it does not exist or an error occurred.
    public func exec() -> DittoDocument? {
        store.errorHandler.returning(nil) {
            try store.read(query.statement("SELECT *")).items.first.map {
                DittoDocument(try $0.value)
            }
        }
    }

    /// Deletes the document, on all peers; returns whether it existed and could be deleted.
    @discardableResult
    public func remove() -> Bool {
        write("DELETE")
    }

    /// Removes the document from this store only; returns whether it existed and could be removed.
    @discardableResult
    public func evict() -> Bool {
        write("EVICT")
    }

    private func write(_ verb: DQL) -> Bool {
        store.errorHandler.returning(false) {
            try !store.write(query.statement(verb)).mutatedDocumentIDs.isEmpty
        }
    }

    /// Lets `closure` change the document, or nil if it does not exist; returns the changes.
    @discardableResult
    public func update(
        _ closure: (_ document: DittoMutableDocument?) -> Void
    ) -> [DittoUpdateResult] {
        store.errorHandler.returning([]) {
            try store.update(query) { closure($0.first) }
        }
    }
}
