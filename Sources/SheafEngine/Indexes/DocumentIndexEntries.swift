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
    /// The collection of the last document, and its key builders.
    private var last: (collection: UInt16, builders: [IndexKeyBuilder])?
    /// The memory in which keys are made.
    private var writer = SortKeyWriter()

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
    mutating func hasIndexes(ofDocument key: [UInt8]) -> Bool {
        key.span.withUnsafeBytes { !builders(ofDocument: $0).isEmpty }
    }

    /// Returns the index entry keys of a document or tombstone, index by index.
    package mutating func keys(
        of document: StoredDocument?, _ key: [UInt8]
    ) throws(EngineError) -> [[UInt8]] {
        var keys = IndexKeys()
        try append(keysOf: document, key, to: &keys)
        return keys.arrays
    }

    /// Appends the index entry keys of a document or tombstone to `keys`, index by index.
    mutating func append(
        keysOf document: borrowing StoredDocument?, _ key: [UInt8], to keys: inout IndexKeys
    ) throws(EngineError) {
        try document?.read { (bytes) throws(EngineError) in
            try key.span.withUnsafeBytes { (key) throws(EngineError) in
                try append(keysOfState: bytes, key, to: &keys)
            }
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

    /// Appends the index entry keys of an encoded document or tombstone to `keys`.
    mutating func append(
        keysOfState bytes: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer,
        to keys: inout IndexKeys
    ) throws(EngineError) {
        let makers = builders(ofDocument: key)
        guard includesTombstones || !makers.isEmpty else { return }
        do throws(Malformed) {
            let document = try EncodedDocument(bytes)
            guard try document.exists() else {
                if includesTombstones { keys.append(tombstoneOf: key) }
                return
            }
            let id = UnsafeRawBufferPointer(rebasing: key[StoreKey.documentPrefixLength...])
            for maker in makers {
                try maker.appendKey(of: document, id: id, names, with: &writer, to: &keys)
            }
        } catch {
            throw .damaged(key: Array(key), error)
        }
    }

    private mutating func builders(ofDocument key: UnsafeRawBufferPointer) -> [IndexKeyBuilder] {
        guard !indexes.isEmpty, let collection = StoreKey.collection(ofDocument: key) else {
            return []
        }
        if let last, last.collection == collection { return last.builders }
        let found =
            builders[collection] ?? (indexes[collection] ?? []).map { IndexKeyBuilder($0, names) }
        builders[collection] = found
        last = (collection, found)
        return found
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
