import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage

/// A document that changed since the last publication, or a shadow that the peer changed.
struct ChangedDocument {
    let key: [UInt8]
    let before: StoredDocument?
    var commit: RecentCommits.Commit?
    /// The remote commit that changed the peer's shadow of a hidden document.
    var shadowCommit: UInt64?
}

extension RecentCommits {
    /// Returns the documents of the commits that the last update added.
    ///
    /// If the change feed omitted commits, documents that these may have changed are included.
    func changedDocuments() throws(EngineError) -> [ChangedDocument] {
        var found: [ChangedDocument] = []
        for commit in fresh {
            for change in commit.changes {
                found.append(
                    ChangedDocument(key: change.key.bytes, before: change.before, commit: commit))
            }
        }
        guard let before = stateBefore else { return found }
        let known = Set(found.map(\.key))
        let end = end(of: before.log.commit)
        var others: [[UInt8]] = []
        snapshot.log.tree.forEach(in: StoreKey.documents) { key, value in
            if let pointer = RecordPointer(value), pointer.position >= end {
                others.append(Array(key))
            }
            return true
        }
        let fresh = Set(fresh.map(\.number))
        for key in others {
            if known.contains(key), try areAll(fresh, commitsOf: key, since: before) { continue }
            found.append(ChangedDocument(key: key, before: try before.document(key)))
        }
        return found
    }

    /// Whether `fresh` certainly contains every commit that wrote a document since a snapshot.
    private func areAll(
        _ fresh: Set<CommitID>, commitsOf key: [UInt8], since before: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard before.log.commit >= snapshot.log.compactedThrough,
            let newest = try snapshot.newestCommit(of: key),
            let others = try snapshot.commits(
                of: key, since: before.log.commit, most: fresh.count)
        else { return false }
        return fresh.contains(newest) && others.allSatisfy(fresh.contains)
    }
}
