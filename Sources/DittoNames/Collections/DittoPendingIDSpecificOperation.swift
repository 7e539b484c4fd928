import Sheaf

/// One document that was looked for by its id, until somebody says what is to be done with it.
public final class DittoPendingIDSpecificOperation: Sendable {
    let store: DittoStore
    let query: PendingQuery

    init(_ collection: DittoCollection, _ id: DittoDocumentID) {
        store = collection.store
        query = PendingQuery(
            collection: collection.name, condition: "_id == $args.id",
            arguments: ["id": id.sheafValue])
    }

    /// The document; nil where there is none.
    public func exec() -> DittoDocument? {
        store.complaints.returning(nil) {
            try store.read(query.statement("SELECT *")).items.first.map {
                DittoDocument(try $0.value)
            }
        }
    }

    /// Deletes the document, here and with all peers; returns whether it was there.
    @discardableResult
    public func remove() -> Bool {
        write("DELETE")
    }

    /// Removes the document from this store alone; returns whether it was there.
    @discardableResult
    public func evict() -> Bool {
        write("EVICT")
    }

    private func write(_ verb: Query) -> Bool {
        store.complaints.returning(false) {
            try !store.write(query.statement(verb)).mutatedDocumentIDs.isEmpty
        }
    }

    /// Lets a closure change the document, which is nil where there is none; returns what was done.
    @discardableResult
    public func update(
        _ closure: (_ document: DittoMutableDocument?) -> Void
    ) -> [DittoUpdateResult] {
        store.complaints.returning([]) {
            try store.update(query) { closure($0.first) }
        }
    }
}
