package import SheafBytes
import SheafDocument
package import SheafStorage

extension DocumentSnapshot {
    /// Whether indexes and counts can be used in this snapshot.
    package var hasUsableIndexes: Bool { log.indexMark.commit == log.commit }

    /// Returns the usable indexes of a collection, sorted by number.
    package func indexes(of collection: String) -> [IndexDefinition] {
        hasUsableIndexes ? knownIndexes(of: collection) : []
    }

    /// Returns the usable indexes of the collection with this number.
    package func indexes(ofCollection number: UInt16) -> [IndexDefinition] {
        hasUsableIndexes ? knownIndexes(ofCollection: number) : []
    }

    /// Returns the indexes of a collection, including unusable ones.
    package func knownIndexes(of collection: String) -> [IndexDefinition] {
        catalog.number(ofCollection: collection).map(knownIndexes(ofCollection:)) ?? []
    }

    private func knownIndexes(ofCollection number: UInt16) -> [IndexDefinition] {
        guard let all = catalog.indexes[number] else { return [] }
        return all.allSatisfy { $0.since <= log.commit }
            ? all : all.filter { $0.since <= log.commit }
    }

    /// Returns the range of a collection's tombstone index entries; nil if they cannot be used.
    ///
    /// The entries are in the order of the document keys.
    package func tombstones(of collection: String) -> KeyRange? {
        guard hasUsableIndexes, let number = catalog.number(ofCollection: collection) else {
            return nil
        }
        return catalog.descriptions[Int(number)].tombstones
    }

    /// Returns the number of keys or index entries in a range.
    package func count(in range: KeyRange) -> Int { log.tree.count(in: range) }

    /// Calls `body` with the entries of an index in `range`, in order, until it returns false.
    ///
    /// The key is valid only during the call.
    package func forEachEntry<Failure: Error>(
        in range: KeyRange, reversed: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ pointer: RecordPointer) throws(Failure) -> Bool
    ) throws(Failure) {
        try log.tree.forEach(in: range, reversed: reversed) { (key, value) throws(Failure) in
            guard let pointer = RecordPointer(value) else { return true }
            return try body(key, pointer)
        }
    }

    /// Returns the document at a record pointer, and its key.
    ///
    /// The key is valid as long as the snapshot.
    package func document(
        at pointer: RecordPointer
    ) throws(EngineError) -> (key: UnsafeRawBufferPointer, document: StoredDocument) {
        if !pointer.isDelta {
            let found = try onStorage { () throws(StorageError) in try log.operation(at: pointer) }
            do throws(Malformed) {
                return (found.operation.key, try StoredDocument(found.operation, in: log))
            } catch {
                throw damaged(Array(found.operation.key), error, at: pointer.position)
            }
        }
        let operations = try onStorage { () throws(StorageError) in
            try log.operations(at: pointer)
        }
        guard let newest = operations.first else {
            throw .damaged(key: [], .invalid("a record pointer without operations", at: 0))
        }
        let key = newest.operation.key
        do throws(Malformed) {
            guard let document = try StoredDocument(operations, in: log, names) else {
                throw .invalid("a record pointer without operations", at: 0)
            }
            return (key, document)
        } catch {
            throw damaged(Array(key), error, at: pointer.position)
        }
    }
}
