import SheafBytes
import SheafDocument
package import SheafStorage

extension DocumentSnapshot {
    /// Returns all documents as of an earlier commit that the log still has completely.
    ///
    /// Its index entries are made from those of this snapshot.
    package func past(_ commit: CommitID) throws(EngineError) -> DocumentSnapshot {
        guard commit != log.commit else { return self }
        let past = try onStorage { () throws(StorageError) in try log.past(commit) }
        let areIndexesChanged = past.changedKeys.contains { StoreKey.indexes.contains($0.key) }
        let unindexed = DocumentSnapshot(
            past.snapshot,
            areIndexesChanged ? try catalog.withIndexes(of: past.snapshot) : catalog)
        guard hasUsableIndexes else { return unindexed }
        let changes = try IndexRepair.changes(from: self, to: unindexed, past.changedKeys)
        return DocumentSnapshot(past.snapshot.with(changes), unindexed.catalog)
    }

    /// Returns the same documents, read from the files of a newer snapshot of the store.
    ///
    /// Returns the snapshot itself, with its cached log orders, if compaction has replaced none of
    /// its files.
    func with(filesOf newer: DocumentSnapshot) -> DocumentSnapshot {
        guard !newer.log.segments.contains(log.segments) else { return self }
        return DocumentSnapshot(log.with(newer.log.segments), catalog)
    }
}
