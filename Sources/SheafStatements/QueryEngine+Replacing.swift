import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery

/// Changes of documents without a statement, by their differences.
extension QueryEngine {
    /// Turns `old` into `new` within a document; returns nil if the document does not exist, and
    /// otherwise whether it was changed.
    ///
    /// Without `old`, the fields of `new` replace those of the same names.
    package func replace(
        _ id: Value, in collection: String, from old: Object?, to new: Object,
        _ transaction: inout DocumentTransaction
    ) throws(StoreError) -> Bool? {
        var found: Bool?
        _ = try transaction.write(self) { (transaction) throws(StoreError) in
            found = try replaceWithin(id, in: collection, from: old, to: new, &transaction)
            return outcome(of: [], in: transaction)
        }
        return found
    }

    /// Inserts documents, or replaces the fields of existing ones, as one statement.
    ///
    /// `next` returns the next documents, or nil after the last ones. Returns the ids of the
    /// documents that were written.
    package func upsert(
        _ insertion: Statement, into collection: String,
        in transaction: inout DocumentTransaction,
        forEach next: () throws(StoreError) -> [Object]?
    ) throws(StoreError) -> [Value] {
        let parameters = parameters
        var ids: [Value] = []
        var seen: Set<[UInt8]> = []
        _ = try transaction.write(self) { (transaction) throws(StoreError) in
            while let objects = try next() {
                var added: [Value] = []
                for object in objects {
                    guard let id = object[DocumentDecoder.idName] else {
                        added.append(.object(object))
                        continue
                    }
                    guard seen.insert(SortKey.identity(of: id)).inserted else {
                        throw StoreError(
                            .conflict, "two documents of one upsert have the _id \(id.json)")
                    }
                    let isChanged = try replaceWithin(
                        id, in: collection, from: nil, to: object, &transaction)
                    if isChanged == nil { added.append(.object(object)) }
                    if isChanged == true { ids.append(id) }
                }
                let arguments = ArgumentValues("documents", .array(added))
                assignNumbers(insertedBy: insertion, arguments)
                transaction.catalog.adoptNames(of: documents.newestCatalog)
                let inserted = try change(insertion, arguments, parameters, in: &transaction)
                logSize(of: inserted.largeDocuments)
                ids += inserted.mutatedIDs
            }
            return outcome(of: ids, in: transaction)
        }
        return ids
    }

    private func outcome(of ids: [Value], in transaction: DocumentTransaction) -> QueryOutcome {
        let reader = reader(of: transaction)
        reader.releasePending()
        return QueryOutcome(rows: QueryRows(), reader: reader, mutatedIDs: ids)
    }

    private func replaceWithin(
        _ id: Value, in collection: String, from old: Object?, to new: Object,
        _ transaction: inout DocumentTransaction
    ) throws(StoreError) -> Bool? {
        let parameters = parameters.values
        setLimits(of: &transaction, parameters)
        guard let number = transaction.catalog.number(ofCollection: collection) else { return nil }
        let key: [UInt8]
        do throws(DocumentError) {
            key = try StoreKey.bytes(ofDocument: id, collection: number)
        } catch {
            throw StoreError(.argument, "\(error)")
        }
        var (old, new) = (old, new)
        old?[DocumentDecoder.idName] = nil
        new[DocumentDecoder.idName] = nil
        let reader = reader(of: transaction)
        var edits: [Edit]?
        try reader.read(key) { (document) throws(StoreError) in
            do throws(Malformed) {
                edits = try Replacement.edits(
                    of: document.fields, from: old, to: new, reader.names,
                    isStrict: parameters.isStrict)
            } catch {
                throw StoreError(error, document: document.position)
            }
        }
        reader.releasePending()
        guard let edits else { return nil }
        guard !edits.isEmpty else { return false }
        do throws(EngineError) {
            let change = DocumentChange(collection, id, .edit(edits))
            let isChanged = try transaction.apply(change).isChanged
            logSize(of: transaction.largeDocuments)
            return isChanged
        } catch {
            if case .document(.counter(let counter)) = error {
                throw StoreError(counter, in: collection)
            }
            throw StoreError(error)
        }
    }
}
