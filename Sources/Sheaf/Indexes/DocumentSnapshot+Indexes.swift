package import SheafBytes
import SheafDocument
import SheafQuery
package import SheafStorage

extension DocumentSnapshot {
    /// Whether indexes and counts can be asked in this state.
    var hasLinks: Bool { log.linked.commit == log.commit }

    /// The indexes of a collection that can be asked in this state, in the order of their numbers.
    package func indexes(of collection: String) -> [IndexDefinition] {
        hasLinks ? knownIndexes(of: collection) : []
    }

    /// The same for the number of a collection.
    func indexes(ofCollection number: UInt16) -> [IndexDefinition] {
        hasLinks ? knownIndexes(ofCollection: number) : []
    }

    /// The indexes of a collection, also where nobody can ask them.
    func knownIndexes(of collection: String) -> [IndexDefinition] {
        directory.number(ofCollection: collection).map(knownIndexes(ofCollection:)) ?? []
    }

    private func knownIndexes(ofCollection number: UInt16) -> [IndexDefinition] {
        guard let all = directory.indexes[number] else { return [] }
        return all.allSatisfy { $0.since <= log.commit }
            ? all : all.filter { $0.since <= log.commit }
    }

    /// The links to what is left of documents of a collection that do not exist, in the order of
    /// the documents' keys; none where they cannot be asked in this state.
    package func tombstones(of collection: String) -> KeyRange? {
        guard hasLinks, let number = directory.number(ofCollection: collection) else { return nil }
        return directory.descriptions[Int(number)].tombstones
    }

    /// How many keys, or entries of indexes, are in a range.
    package func count(in range: KeyRange) -> Int { log.tree.count(in: range) }

    /// Calls `body` with the entries of an index in `range`, in order, until it returns false.
    ///
    /// The key is valid during the call alone.
    package func forEachEntry<Failure: Error>(
        in range: KeyRange, reversed: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ place: Place) throws(Failure) -> Bool
    ) throws(Failure) {
        try log.tree.forEach(in: range, reversed: reversed) { (key, value) throws(Failure) in
            guard let place = Place(value) else { return true }
            return try body(key, place)
        }
    }

    /// The document to which an entry leads, and its key, which is valid as long as the snapshot.
    package func document(
        at place: Place
    ) throws(EngineError) -> (key: UnsafeRawBufferPointer, document: StoredDocument) {
        if !place.isExtension {
            let found = try onStorage { () throws(StorageError) in try log.operation(at: place) }
            do throws(Malformed) {
                return (found.operation.key, try StoredDocument(found, in: log))
            } catch {
                throw damaged(Array(found.operation.key), error, at: place.position)
            }
        }
        let operations = try onStorage { () throws(StorageError) in try log.operations(at: place) }
        guard let newest = operations.first else {
            throw .damaged(key: [], .invalid("a place without operations", at: 0))
        }
        let key = newest.operation.key
        do throws(Malformed) {
            guard let document = try StoredDocument(operations, in: log, names) else {
                throw .invalid("a place without operations", at: 0)
            }
            return (key, document)
        } catch {
            throw damaged(Array(key), error, at: place.position)
        }
    }
}
