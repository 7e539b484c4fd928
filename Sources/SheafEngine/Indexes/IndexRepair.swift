import SheafBytes
import SheafDocument
import SheafStorage

/// Repair of the index entries after a store was opened.
///
/// Index entries are not in the log, so the tree has those of its last checkpoint. The repair
/// updates the entries of documents that changed after the commit up to which entries are current.
/// If the log does not reach back to that commit, all entries are rebuilt.
package struct IndexRepair {
    private let snapshot: DocumentSnapshot
    private let indexMark: IndexMark

    /// Repairs the index entries if necessary; returns false if commits are not durable yet.
    @discardableResult
    static func repair(
        _ store: StoreEngine, _ catalog: Catalog
    ) throws(EngineError) -> Bool {
        let snapshot = store.snapshot()
        guard snapshot.indexMark.commit != snapshot.commit else { return true }
        let mender = IndexRepair(
            snapshot: DocumentSnapshot(snapshot, catalog), indexMark: snapshot.indexMark)
        return store.repairIndexEntries(of: snapshot, try mender.changes())
    }

    /// Returns the state of a reader with its index entries repaired in memory.
    static func repair(
        _ follower: LogFollower, _ catalog: Catalog
    ) throws(EngineError) -> LogSnapshot {
        let snapshot = follower.snapshot
        guard snapshot.indexMark.commit != snapshot.commit else { return snapshot }
        let mender = IndexRepair(
            snapshot: DocumentSnapshot(snapshot, catalog), indexMark: snapshot.indexMark)
        return follower.indexed(by: try mender.changes())
    }

    /// Returns the changes of index entries between two states of a reader.
    ///
    /// `keys` are those that differ; the index entries of `old` are complete.
    static func changes(
        from old: DocumentSnapshot, to new: DocumentSnapshot, _ keys: [ChangedKey]
    ) throws(EngineError) -> IndexChanges {
        var changes = IndexChanges()
        var (kept, made): ([UInt16: [IndexDefinition]], [UInt16: [IndexDefinition]]) = ([:], [:])
        let indexKeys = keys.lazy.map(\.key).filter { StoreKey.indexes.contains($0) }
        for definition in new.catalog.indexes.values.joined() {
            if indexKeys.contains(definition.key) {
                made[definition.collection, default: []].append(definition)
            } else {
                kept[definition.collection, default: []].append(definition)
            }
        }
        for key in indexKeys {
            guard case .index(let collection, let number)? = key.withUnsafeBytes({ StoreKey($0) })
            else { continue }
            changes.removeEntries(in: IndexEntry.range(collection: collection, number: number))
        }
        var entries = DocumentIndexEntries(kept, new.names)
        var hasTombstones: [UInt16: Bool] = [:]
        for changed in keys {
            let key = changed.key
            guard let collection = key.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) })
            else { continue }
            let mayHaveEntries =
                hasTombstones[collection]
                ?? !old.log.tree.isEmpty(in: TombstoneEntry.range(of: collection))
            hasTombstones[collection] = mayHaveEntries
            let hasIndexes = entries.hasIndexes(ofDocument: key)
            if mayHaveEntries || hasIndexes {
                let before = try entries.keys(ofNewest: key, in: old)
                try onStorage { () throws(StorageError) in
                    for entry in before { try changes.removeEntries(entry) }
                }
            }
            guard let pointer = changed.pointer else { continue }
            if !hasIndexes, let payload = changed.payload {
                let exists = try onDocument(key) { () throws(Malformed) in
                    try DocumentPayload.plainState(payload)?.exists() ?? false
                }
                if exists { continue }
            }
            try entries.indexDocument(key, at: pointer, in: new, &changes)
        }
        var created = DocumentIndexEntries(made, new.names, includesTombstones: false)
        try created.indexAll(in: new, &changes)
        changes.sort()
        return changes
    }

    private func changes() throws(EngineError) -> IndexChanges {
        var changes = IndexChanges()
        if reachesBack, try repairChanged(&changes) { return changes }
        changes = IndexChanges()
        changes.removeEntries(in: IndexChanges.all)
        var entries = DocumentIndexEntries(snapshot.catalog.indexes, snapshot.names)
        try entries.indexAll(in: snapshot, &changes)
        changes.sort()
        return changes
    }

    /// Whether the log has the documents as of the last current entries, and all removals since.
    private var reachesBack: Bool {
        indexMark.commit > 0 && indexMark.commit >= snapshot.log.compactedThrough
            && indexMark.end >= snapshot.log.removalsCompactedThrough
    }

    /// Repairs the entries of changed documents; returns false if an earlier state is unavailable.
    private func repairChanged(_ changes: inout IndexChanges) throws(EngineError) -> Bool {
        let (kept, new) = split(snapshot.catalog.indexes)
        forEachChange(in: StoreKey.indexes) { key, _ in
            guard case .index(let collection, let number)? = key.withUnsafeBytes({ StoreKey($0) })
            else { return }
            changes.removeEntries(in: IndexEntry.range(collection: collection, number: number))
        }
        var entries = DocumentIndexEntries(kept, snapshot.names)
        var changed: [(key: [UInt8], pointer: RecordPointer?)] = []
        forEachChange(in: StoreKey.documents) { changed.append(($0, $1)) }
        for (key, pointer) in changed {
            guard let earlier = try earlierEntries(of: key, &entries) else { return false }
            try onStorage { () throws(StorageError) in
                for entry in earlier { try changes.removeEntries(entry) }
            }
            guard let pointer else { continue }
            try entries.indexDocument(key, at: pointer, in: snapshot, &changes)
        }
        var made = DocumentIndexEntries(new, snapshot.names, includesTombstones: false)
        try made.indexAll(in: snapshot, &changes)
        changes.sort()
        return true
    }

    /// Returns the earlier entries of a document; nil if its earlier state is unavailable.
    private func earlierEntries(
        of key: [UInt8], _ entries: inout DocumentIndexEntries
    ) throws(EngineError) -> [[UInt8]]? {
        guard entries.hasIndexes(ofDocument: key) else {
            return entries.tombstone(key, in: snapshot)
        }
        guard let past = try snapshot.document(key, asOf: indexMark.commit) else { return nil }
        return try entries.keys(of: past, key)
    }

    /// Returns the indexes that have entries, and those created since.
    private func split(
        _ indexes: [UInt16: [IndexDefinition]]
    ) -> (kept: [UInt16: [IndexDefinition]], new: [UInt16: [IndexDefinition]]) {
        var (kept, new): ([UInt16: [IndexDefinition]], [UInt16: [IndexDefinition]]) = ([:], [:])
        for definition in indexes.values.joined() {
            let pointer = definition.key.withUnsafeBytes { snapshot.log.recordPointer(of: $0) }
            if let pointer, pointer.position < indexMark.end {
                kept[definition.collection, default: []].append(definition)
            } else {
                new[definition.collection, default: []].append(definition)
            }
        }
        return (kept, new)
    }

    /// Calls `body` with each key of a range that changed since the entries were current.
    ///
    /// The record pointer is nil for a removed key.
    private func forEachChange(
        in range: KeyRange, _ body: (_ key: [UInt8], _ pointer: RecordPointer?) -> Void
    ) {
        snapshot.log.tree.forEach(in: range) { key, value in
            if let pointer = RecordPointer(value), pointer.position >= indexMark.end {
                body(Array(key), pointer)
            }
            return true
        }
        snapshot.log.forEachRemoval(in: range) { key, pointer in
            if pointer.position >= indexMark.end { body(Array(key), nil) }
        }
    }
}
