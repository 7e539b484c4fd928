import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery

/// Reads and writes of statements in a transaction.
extension DocumentTransaction {
    /// Returns a reader of the documents, including the changes of earlier statements.
    package func reader(
        _ virtual: any VirtualCollections, _ pastStates: PastStates, storeNumber: UInt64
    ) -> SnapshotReader {
        let current = DocumentSnapshot(snapshot, catalog)
        // Pending names get other numbers if the transaction does not commit.
        return SnapshotReader(
            current, pending: pending, virtual: virtual, pastStates: pastStates,
            planState: pending.isEmpty ? PlanState(of: current, storeNumber: storeNumber) : nil,
            storeNumber: storeNumber)
    }

    /// Applies the mutation of one document; returns whether it changed anything.
    mutating func apply(_ mutation: Mutation) throws(StoreError) -> Bool {
        func change(_ action: DocumentChange.Action) -> DocumentChange {
            DocumentChange(mutation.collection, mutation.id, action)
        }
        do throws(EngineError) {
            switch mutation.action {
            case .edit(let edits): return try apply(change(.edit(edits))).isChanged
            case .insert(let object, let edits, let conflict):
                let inserted = try apply(
                    change(.insert(object, onConflict: DocumentChange.Conflict(conflict))))
                guard !edits.isEmpty, inserted.isChanged || conflict == .mergeDifferences else {
                    return inserted.isChanged
                }
                return try apply(change(.edit(edits))).isChanged || inserted.isChanged
            case .insertUnstamped(let document, let conflict):
                return try apply(
                    change(
                        .insertUnstamped(document, onConflict: DocumentChange.Conflict(conflict)))
                ).isChanged
            case .insertInitial(let object):
                return try apply(change(.insertInitial(object))).isChanged
            case .delete: return try apply(change(.delete)).isChanged
            case .evict: return try apply(change(.evict)).isChanged
            }
        } catch {
            if case .document(.counter(let counter)) = error {
                throw StoreError(counter, in: mutation.collection)
            }
            throw StoreError(error)
        }
    }

    /// Returns the mutated document as a statement sees it; nil if there is none.
    package func object(_ mutation: Mutation, _ types: FieldTypes) throws(StoreError) -> Object? {
        guard let number = catalog.number(ofCollection: mutation.collection),
            let key = try? StoreKey.bytes(ofDocument: mutation.id, collection: number),
            let state = state(of: DocumentKey(key))
        else {
            return nil
        }
        do throws(Malformed) {
            var object = try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).existingFields().map { (fields) throws(Malformed) in
                    try types.value(of: fields, catalog.names)
                }
            }
            object?["_id"] = mutation.id
            return object
        } catch {
            throw StoreError(error)
        }
    }
}

extension DocumentChange.Conflict {
    package init(_ conflict: Insert.Conflict) {
        switch conflict {
        case .fail: self = .fail
        case .doNothing: self = .doNothing
        case .merge: self = .merge
        case .mergeDifferences: self = .mergeDifferences
        }
    }
}
