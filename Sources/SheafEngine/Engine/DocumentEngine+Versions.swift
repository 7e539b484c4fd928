import SheafBytes
import SheafDocument
import SheafStorage
import Synchronization

/// The hashes of documents as weights of the tree, which peers compare.
extension DocumentEngine {
    /// Number of documents whose hashes are added together.
    private static let addedTogether = 4_096

    /// Adds the hashes of all documents, and keeps adding those of documents that change.
    ///
    /// They are in checkpoints, but not in the log. So a store that a peer has used before lacks
    /// those of the documents that were read from the log. A document that cannot be read has none.
    package func trackVersions() throws(EngineError) {
        // Each later commit has hashes, so it does not matter that the log goes on.
        let catalog = state.withLock { state in
            state.tracksVersions = true
            return state.catalog
        }
        try onStorage { () throws(StorageError) in _ = try store.flush() }
        try addVersions(in: StoreKey.documents, catalog)
        // Commits of other tasks may leave out entries in the meantime: the next round adds these.
        for _ in 0..<Self.maximumRounds {
            guard try addIndexVersions() else { return }
        }
    }

    /// Maximum number of rounds in which index entries get hashes.
    private static let maximumRounds = 4

    /// Adds the hashes of documents to the entries of all indexes; returns whether some have none.
    private func addIndexVersions() throws(EngineError) -> Bool {
        try onStorage { () throws(StorageError) in _ = try store.flush() }
        let catalog = state.withLock { $0.catalog }
        let snapshot = DocumentSnapshot(store.snapshot(), catalog)
        guard snapshot.hasUsableIndexes else { return false }
        let lacking = catalog.indexes.values.joined().filter {
            !snapshot.hasVersions(in: $0.entries(in: .complete))
        }
        for index in lacking { addVersions(to: index, in: snapshot) }
        return !lacking.isEmpty
    }

    /// Adds the hashes of documents to the complete entries of an index.
    private func addVersions(to index: IndexDefinition, in snapshot: DocumentSnapshot) {
        let reader = IndexEntryReader(index)
        var rest = index.entries(in: .complete)
        while true {
            let found = snapshot.log.tree.unweighted(in: rest, most: Self.addedTogether)
            guard let last = found.last else { return }
            var weights: [(key: [UInt8], pointer: RecordPointer, weight: UInt64)] = []
            for (key, value) in found {
                let entry = key.span.withUnsafeBytes { try? reader.read($0) }
                guard let pointer = RecordPointer(value), let id = entry?.id,
                    let bytes = try? DocumentID.key(of: id)
                else { continue }
                let document = StoreKey.document(collection: index.collection, id: bytes).bytes
                let newest = document.span.withUnsafeBytes { snapshot.log.tree.find($0) }
                guard let newest, let weight = newest.weight, RecordPointer(newest) == pointer
                else { continue }
                weights.append((key, pointer, weight))
            }
            store.setWeights(weights)
            guard found.count == Self.addedTogether else { return }
            rest = rest.intersection(KeyRange(from: last.key + [0]))
        }
    }

    private func addVersions(in range: KeyRange, _ catalog: Catalog) throws(EngineError) {
        let snapshot = DocumentSnapshot(store.snapshot(), catalog)
        var hasher = VersionHasher(catalog)
        var rest = range
        while true {
            let found = snapshot.log.tree.unweighted(in: rest, most: Self.addedTogether)
            guard let last = found.last else { return }
            var weights: [(key: [UInt8], pointer: RecordPointer, weight: UInt64)] = []
            for (key, value) in found {
                guard let pointer = RecordPointer(value),
                    let document = try? snapshot.document(key),
                    let hash = try? hasher.hash(of: document, key)
                else { continue }
                weights.append((key, pointer, hash))
            }
            store.setWeights(weights)
            guard found.count == Self.addedTogether else { return }
            rest = rest.intersection(KeyRange(from: last.key + [0]))
        }
    }
}
