import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// The keys that lead to documents: one in each index of their collection, or one that says that
/// there is but a tombstone.
struct DocumentLinks {
    private let names: NameTable
    private let indexes: [UInt16: [IndexDefinition]]
    private let linksTombstones: Bool
    /// Ends `linkAll` when the statement that makes the index is cancelled.
    private let stop: EvaluationStop?
    /// Made with the first document of a collection.
    private var makers: [UInt16: [IndexKeyMaker]] = [:]

    init(
        _ indexes: [UInt16: [IndexDefinition]], _ names: NameTable, linksTombstones: Bool = true,
        until stop: EvaluationStop? = nil
    ) {
        self.stop = stop
        self.indexes = indexes
        self.names = names
        self.linksTombstones = linksTombstones
    }

    /// Whether the collection of a document has indexes among these.
    mutating func hasIndexes(ofDocument key: [UInt8]) -> Bool { !makers(ofDocument: key).isEmpty }

    /// The keys that lead to a document, index by index, or to what is left of one; none where
    /// there is nothing.
    mutating func keys(
        of document: StoredDocument?, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        guard let document else { return [] }
        return try document.read { (bytes) throws(EngineError) in
            try keys(ofState: bytes, key)
        }
    }

    /// The same for the bytes of a document.
    mutating func keys(
        ofState bytes: UnsafeRawBufferPointer, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        let makers = makers(ofDocument: key)
        guard linksTombstones || !makers.isEmpty else { return [] }
        let (names, linksTombstones) = (names, linksTombstones)
        return try onDocument(key) { () throws(Malformed) in
            let document = try EncodedDocument(bytes)
            guard try document.exists() else {
                return linksTombstones ? [TombstoneLink.key(toDocument: key)] : []
            }
            guard !makers.isEmpty else { return [] }
            return try key.span.withUnsafeBytes { key throws(Malformed) in
                let id = UnsafeRawBufferPointer(rebasing: key[StoreKey.documentPrefixLength...])
                var keys: [[UInt8]] = []
                keys.reserveCapacity(makers.count)
                for maker in makers {
                    keys.append(try maker.key(of: document, id: id, names))
                }
                return keys
            }
        }
    }

    private mutating func makers(ofDocument key: [UInt8]) -> [IndexKeyMaker] {
        guard !indexes.isEmpty,
            let collection = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) })
        else { return [] }
        if let known = makers[collection] { return known }
        let made = (indexes[collection] ?? []).map { IndexKeyMaker($0, names) }
        makers[collection] = made
        return made
    }

    /// Links all documents as they stand in a snapshot.
    mutating func linkAll(
        in snapshot: DocumentSnapshot, _ changes: inout LinkChanges
    ) throws(EngineError) {
        if linksTombstones { return try linkAll(StoreKey.documents, in: snapshot, &changes) }
        for collection in indexes.keys.sorted() {
            try linkAll(StoreKey.documents(of: collection), in: snapshot, &changes)
        }
    }

    private mutating func linkAll(
        _ range: KeyRange, in snapshot: DocumentSnapshot, _ changes: inout LinkChanges
    ) throws(EngineError) {
        try snapshot.log.tree.forEach(in: range) { (key, value) throws(EngineError) in
            guard let place = Place(value) else { return true }
            do throws(QueryError) { try stop?.check() } catch { throw .evaluation(error) }
            try link(Array(key), at: place, in: snapshot, &changes)
            return true
        }
    }

    /// Links a document as it stands in a snapshot.
    mutating func link(
        _ key: [UInt8], at place: Place, in snapshot: DocumentSnapshot,
        _ changes: inout LinkChanges
    ) throws(EngineError) {
        // What the tree names is believed where it is of this key.
        let found = try snapshot.document(at: place)
        let document = found.key.elementsEqual(key) ? found.document : try snapshot.document(key)
        let links = try keys(of: document, key)
        try onStorage { () throws(StorageError) in
            for link in links { try changes.link(link, to: place) }
        }
    }
}
