import SheafDocument
import SheafEngine
import SheafStorage

/// The documents that commits have changed, where the change feed lacks commits.
extension DocumentSnapshot {
    /// Maximum number of commits of one document that are examined.
    private static let examinedCommits = 64

    /// Returns the keys of the documents that commits after one have changed, from the tree.
    ///
    /// With `omitsReceived`, it omits documents of which all these commits have documents from the
    /// hub log. `end` is a log position at or before all operations of the commits.
    func keys(
        changedAfter commit: CommitID, from end: LogPosition, omitsReceived: Bool
    ) throws(EngineError) -> [[UInt8]] {
        var newer: [[UInt8]] = []
        log.tree.forEach(in: StoreKey.documents) { key, value in
            if let pointer = RecordPointer(value), pointer.position >= end {
                newer.append(Array(key))
            }
            return true
        }
        // Compacted commits may lack operations, so that a later commit has their changes.
        let received: Set<CommitID> =
            omitsReceived && commit >= log.compactedThrough
            ? try receivedCommits(after: commit) : []
        guard commit > 0 || !received.isEmpty else { return newer }
        var found: [[UInt8]] = []
        for key in newer {
            guard let last = try newestCommit(of: key), last > commit else { continue }
            if received.contains(last) {
                let others = try commits(of: key, since: commit, most: Self.examinedCommits)
                if let others, others.allSatisfy(received.contains) { continue }
            }
            found.append(key)
        }
        return found
    }

    /// Returns the keys of the documents that a range of commits has changed, or later ones.
    func keys(changedBy commits: ClosedRange<CommitID>) throws(EngineError) -> Set<[UInt8]> {
        let base = commits.lowerBound - 1
        guard base >= log.compactedThrough else {
            return Set(try keys(changedAfter: base, from: .none, omitsReceived: false))
        }
        var found: Set<[UInt8]> = []
        try forEachCommit(in: commits) { operations, _ in
            for logged in operations {
                guard case .document? = StoreKey(logged.operation.key) else { continue }
                found.insert(Array(logged.operation.key))
            }
        }
        return found
    }

    /// Returns the commits after one that have documents from the hub log.
    func receivedCommits(after commit: CommitID) throws(EngineError) -> Set<CommitID> {
        var found: Set<CommitID> = []
        guard commit < log.commit else { return found }
        try forEachCommit(in: (commit + 1)...log.commit) { operations, id in
            let isReceived = operations.contains { logged in
                if case .storedShard? = StoreKey(logged.operation.key) { true } else { false }
            }
            if isReceived { found.insert(id) }
        }
        return found
    }

    private func forEachCommit(
        in commits: ClosedRange<CommitID>, _ body: ([LoggedOperation], CommitID) -> Void
    ) throws(EngineError) {
        try log.forEachCommit(
            in: commits, isReversed: false, reading: { EngineError.storage($0) }
        ) { (commit) throws(EngineError) in
            body(try onStorage { () throws(StorageError) in try commit.operations() }, commit.id)
            return true
        }
    }
}
