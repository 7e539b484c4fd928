import SheafBytes
import SheafDocument
package import SheafStorage

/// The result of one round of tombstone collection.
package struct TombstoneCollectionReport: Equatable, Sendable {
    /// Number of removed tombstones.
    package var count = 0
    /// Whether the limit was reached, so that more tombstones may have expired.
    package var isPartial = false
    /// The last commit that removed tombstones.
    package var commit: CommitID?
}

extension DocumentEngine {
    /// Whether the newest durable snapshot has tombstones.
    package var hasTombstones: Bool {
        let snapshot = snapshot()
        return snapshot.catalog.collections.indices.contains {
            snapshot.log.tree.count(in: TombstoneEntry.range(of: UInt16($0))) > 0
        }
    }

    /// Removes up to `limit` tombstones of documents deleted before a time, in one commit.
    ///
    /// A peer that has not received the deletion by then restores the document.
    package func collectTombstones(
        before milliseconds: UInt64, limit: Int,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> TombstoneCollectionReport {
        let found = try tombstones(before: milliseconds, limit: limit)
        guard !found.changes.isEmpty else {
            return TombstoneCollectionReport(isPartial: found.isPartial)
        }
        // A document may have been written again since the scan, so its existence is checked.
        let (commit, count) = try write(from: nil, append: append) {
            (transaction) throws(EngineError) in
            var count = 0
            for change in found.changes where try !transaction.exists(change) {
                if try transaction.apply(change).isChanged { count += 1 }
            }
            return count
        }
        return TombstoneCollectionReport(
            count: count, isPartial: found.isPartial, commit: count > 0 ? commit : nil)
    }

    private func tombstones(
        before milliseconds: UInt64, limit: Int
    ) throws(EngineError) -> (changes: [DocumentChange], isPartial: Bool) {
        let snapshot = snapshot()
        var changes: [DocumentChange] = []
        for (number, name) in snapshot.catalog.collections.enumerated() {
            let entries = TombstoneEntry.range(of: UInt16(number))
            let cursor = snapshot.log.tree.cursor()
            guard entries.lower.span.withUnsafeBytes({ cursor.seek($0) }) else { continue }
            repeat {
                let entry = Array(cursor.key)
                guard entries.contains(entry) else { break }
                let id = Array(entry.dropFirst(entries.lower.count))
                let key = StoreKey.document(collection: UInt16(number), id: id).bytes
                guard let age = try snapshot.tombstoneTime(key), age < milliseconds else {
                    continue
                }
                guard changes.count < limit else { return (changes, true) }
                let value = try onDocument(key) { () throws(Malformed) in
                    try id.span.withUnsafeBytes { id throws(Malformed) in
                        try DocumentID.id(of: id)
                    }
                }
                changes.append(DocumentChange(name, value, .purge))
            } while cursor.next()
        }
        return (changes, false)
    }
}

extension DocumentSnapshot {
    /// Returns when a document was deleted, in milliseconds since 1970; nil if it is no tombstone.
    fileprivate func tombstoneTime(_ key: [UInt8]) throws(EngineError) -> UInt64? {
        guard let document = try document(key) else { return nil }
        return try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                return try document.exists() ? nil : try document.vector().latest.milliseconds
            }
        }
    }
}

extension DocumentTransaction {
    /// Whether the document of a change exists.
    fileprivate func exists(_ change: DocumentChange) throws(EngineError) -> Bool {
        guard
            let key = try DocumentSnapshot(snapshot, catalog).key(
                collection: change.collection, id: change.id)
        else { return false }
        let document: StoredDocument?
        if let newer = pending[key] {
            document = newer.document
        } else {
            document = try DocumentSnapshot(snapshot, catalog).document(key)
        }
        guard let document else { return false }
        return try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in try EncodedDocument(bytes).exists() }
        }
    }
}
