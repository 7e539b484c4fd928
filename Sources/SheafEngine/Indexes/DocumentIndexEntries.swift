import SheafBytes
import SheafDocument
import SheafStorage
import SheafSystem

/// The index entries of documents: one for each index of the collection, or a tombstone entry.
struct DocumentIndexEntries {
    private let names: NameTable
    private let indexes: [UInt16: [IndexDefinition]]
    private let includesTombstones: Bool
    /// The signal that stops `indexAll` when the statement that creates the index is canceled.
    private let stop: EvaluationStop?
    /// The key builders of each collection, created with its first document.
    private var builders: [UInt16: [IndexKeyBuilder]] = [:]

    package init(
        _ indexes: [UInt16: [IndexDefinition]], _ names: NameTable, includesTombstones: Bool = true,
        until stop: EvaluationStop? = nil
    ) {
        self.stop = stop
        self.indexes = indexes
        self.names = names
        self.includesTombstones = includesTombstones
    }

    /// Whether the collection of a document has any of these indexes.
    mutating func hasIndexes(ofDocument key: [UInt8]) -> Bool { !builders(ofDocument: key).isEmpty }

    /// Returns the index entry keys of a document or tombstone, index by index.
    package mutating func keys(
        of document: StoredDocument?, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        guard let document else { return [] }
        return try document.read { (bytes) throws(EngineError) in
            try keys(ofState: bytes, key)
        }
    }

    /// Returns the index entry keys of a document in a snapshot, whose tree has all of them.
    mutating func keys(
        ofNewest key: [UInt8], in snapshot: DocumentSnapshot
    ) throws(EngineError) -> [[UInt8]] {
        guard hasIndexes(ofDocument: key) else { return tombstone(key, in: snapshot) }
        return try keys(of: try snapshot.document(key), key)
    }

    /// Returns the tombstone entry of a document, if the tree of a snapshot has it.
    ///
    /// A document without indexes has no other entries, so it need not be read.
    func tombstone(_ key: [UInt8], in snapshot: DocumentSnapshot) -> [[UInt8]] {
        let entry = TombstoneEntry.key(ofDocument: key)
        return entry.withUnsafeBytes { snapshot.log.tree.find($0) != nil } ? [entry] : []
    }

    /// Returns the index entry keys of an encoded document or tombstone.
    package mutating func keys(
        ofState bytes: UnsafeRawBufferPointer, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        let makers = builders(ofDocument: key)
        guard includesTombstones || !makers.isEmpty else { return [] }
        let (names, indexesTombstones) = (names, includesTombstones)
        return try onDocument(key) { () throws(Malformed) in
            let document = try EncodedDocument(bytes)
            guard try document.exists() else {
                return indexesTombstones ? [TombstoneEntry.key(ofDocument: key)] : []
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

    private mutating func builders(ofDocument key: [UInt8]) -> [IndexKeyBuilder] {
        guard !indexes.isEmpty,
            let collection = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) })
        else { return [] }
        if let known = builders[collection] { return known }
        let made = (indexes[collection] ?? []).map { IndexKeyBuilder($0, names) }
        builders[collection] = made
        return made
    }

    /// Adds the index entries of all documents of a snapshot.
    mutating func indexAll(
        in snapshot: DocumentSnapshot, _ changes: inout IndexChanges
    ) throws(EngineError) {
        if includesTombstones { return try indexAll(StoreKey.documents, in: snapshot, &changes) }
        for collection in indexes.keys.sorted() {
            try indexAll(StoreKey.documents(of: collection), in: snapshot, &changes)
        }
    }

    private mutating func indexAll(
        _ range: KeyRange, in snapshot: DocumentSnapshot, _ changes: inout IndexChanges
    ) throws(EngineError) {
        try snapshot.log.tree.forEach(in: range) { (key, value) throws(EngineError) in
            guard let pointer = RecordPointer(value) else { return true }
            if let stop, stop.isSet { throw .stopped }
            try indexDocument(
                Array(key), at: pointer, weight: value.weight, in: snapshot, &changes)
            return true
        }
    }

    /// Adds the index entries of one document of a snapshot, with its hash if that is known.
    mutating func indexDocument(
        _ key: [UInt8], at pointer: RecordPointer, weight: UInt64? = nil,
        in snapshot: DocumentSnapshot, _ changes: inout IndexChanges
    ) throws(EngineError) {
        if try isPlainDocument(key, at: pointer, in: snapshot) { return }
        // The operation at the pointer is used only if it has this key.
        let found = try snapshot.document(at: pointer)
        let document = found.key.elementsEqual(key) ? found.document : try snapshot.document(key)
        let entries = try keys(of: document, key)
        try onStorage { () throws(StorageError) in
            for entry in entries {
                try changes.addEntry(entry, to: pointer, weight: weight)
            }
        }
    }

    /// Whether an operation with this key has a complete document that needs no entries.
    private mutating func isPlainDocument(
        _ key: [UInt8], at pointer: RecordPointer, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard !pointer.isDelta, !hasIndexes(ofDocument: key) else { return false }
        let operation = try onStorage { () throws(StorageError) in
            try snapshot.log.newestOperation(at: pointer)
        }
        guard operation.key.elementsEqual(key) else { return false }
        return try onDocument(key) { () throws(Malformed) in
            try DocumentPayload.plainState(operation.payload)?.exists() ?? false
        }
    }
}
