import SheafBytes
import SheafDocument
import SheafStorage

/// What a round of reaping has done.
struct ReapingReport: Equatable, Sendable {
    /// How many tombstones were taken away.
    var count = 0
    /// Whether there may be more.
    var isPartial = false
    /// The last commit that took some away.
    var commit: CommitID?
}

extension DocumentEngine {
    /// Whether anything is left of documents that were deleted, as far as that is durable.
    var hasTombstones: Bool {
        let snapshot = snapshot()
        return snapshot.directory.collections.indices.contains {
            snapshot.log.tree.count(in: TombstoneLink.range(of: UInt16($0))) > 0
        }
    }

    /// Takes tombstones away of documents that were deleted before a time, at most so many in one
    /// commit.
    ///
    /// A peer that has not heard of the deletion until then brings the document back.
    func reap(
        before milliseconds: UInt64, limit: Int,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> ReapingReport {
        let found = try tombstones(before: milliseconds, limit: limit)
        guard !found.changes.isEmpty else { return ReapingReport(isPartial: found.isPartial) }
        // What came back meanwhile has been written again: it is looked at once more.
        do throws(WriteError) {
            let (commit, count) = try write(from: nil, append: append) {
                (transaction) throws(WriteError) in
                var count = 0
                do throws(EngineError) {
                    for change in found.changes where try !transaction.exists(change) {
                        if try transaction.apply(change).isChanged { count += 1 }
                    }
                } catch {
                    throw .engine(error)
                }
                return count
            }
            return ReapingReport(
                count: count, isPartial: found.isPartial, commit: count > 0 ? commit : nil)
        } catch {
            switch error {
            case .engine(let error): throw error
            case .query: preconditionFailure("To take something away asks no questions.")
            }
        }
    }

    private func tombstones(
        before milliseconds: UInt64, limit: Int
    ) throws(EngineError) -> (changes: [DocumentChange], isPartial: Bool) {
        let snapshot = snapshot()
        var changes: [DocumentChange] = []
        for (number, name) in snapshot.directory.collections.enumerated() {
            let links = TombstoneLink.range(of: UInt16(number))
            let cursor = snapshot.log.tree.cursor()
            guard links.lower.span.withUnsafeBytes({ cursor.seek($0) }) else { continue }
            repeat {
                let link = Array(cursor.key)
                guard links.contains(link) else { break }
                let id = Array(link.dropFirst(links.lower.count))
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
                changes.append(DocumentChange(name, value, .forget))
            } while cursor.next()
        }
        return (changes, false)
    }
}

extension DocumentSnapshot {
    /// When a document was deleted, in milliseconds since 1970; none where it exists, or there is
    /// nothing of it.
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
    /// Whether the document of a change is there.
    fileprivate func exists(_ change: DocumentChange) throws(EngineError) -> Bool {
        guard
            let key = try DocumentSnapshot(snapshot, directory).key(
                collection: change.collection, id: change.id)
        else { return false }
        let document: StoredDocument?
        if let newer = pending[key] {
            document = newer.document
        } else {
            document = try DocumentSnapshot(snapshot, directory).document(key)
        }
        guard let document else { return false }
        return try onDocument(key) { () throws(Malformed) in
            try document.read { bytes throws(Malformed) in try EncodedDocument(bytes).exists() }
        }
    }
}
