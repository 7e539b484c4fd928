import SheafDocument
package import SheafEngine
package import SheafHubLog
package import SheafStorage

/// The documents that commits have changed, where the change feed lacks commits.
extension DocumentSnapshot {
    /// Maximum number of commits of one document that are examined.
    private static let examinedCommits = 64

    /// Returns the keys of the documents that commits after one have changed, from the tree.
    ///
    /// It omits documents that all these commits have received from a log; nil stands for any
    /// log. `end` is a log position at or before all operations of the commits.
    package func keys(
        changedAfter commit: CommitID, from end: LogPosition, receivedFrom source: HubLogID?
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
            commit >= log.compactedThrough
            ? try receivedCommits(after: commit, from: source) : []
        // Each key is kept then, so no record has to be read.
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
    package func keys(
        changedBy commits: ClosedRange<CommitID>
    ) throws(EngineError) -> Set<[UInt8]> {
        let base = commits.lowerBound - 1
        guard base >= log.compactedThrough else {
            return Set(try keys(changedAfter: base))
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

    /// Returns the keys of the documents that commits after one have changed, from the tree.
    private func keys(changedAfter commit: CommitID) throws(EngineError) -> [[UInt8]] {
        var found: [[UInt8]] = []
        log.tree.forEach(in: StoreKey.documents) { key, _ in
            found.append(Array(key))
            return true
        }
        guard commit > 0 else { return found }
        var newer: [[UInt8]] = []
        for key in found where try newestCommit(of: key) ?? 0 > commit { newer.append(key) }
        return newer
    }

    /// Returns the commits after one that have documents from a log; nil stands for any log.
    package func receivedCommits(
        after commit: CommitID, from source: HubLogID? = nil
    ) throws(EngineError) -> Set<CommitID> {
        var found: Set<CommitID> = []
        guard commit < log.commit else { return found }
        try forEachCommit(in: (commit + 1)...log.commit) { operations, id in
            let isReceived = operations.contains { logged in
                guard case .storedShard? = StoreKey(logged.operation.key) else { return false }
                guard let source else { return true }
                // A payload that does not decode belongs to no known log.
                return (try? StoredShard(decoding: logged.operation.payload))?.log == source
            }
            if isReceived { found.insert(id) }
        }
        return found
    }

    func forEachCommit(
        in commits: ClosedRange<CommitID>,
        _ body: ([LoggedOperation], CommitID) throws(EngineError) -> Void
    ) throws(EngineError) {
        try log.forEachCommit(
            in: commits, isReversed: false, reading: { EngineError.storage($0) }
        ) { (commit) throws(EngineError) in
            try body(
                try onStorage { () throws(StorageError) in try commit.operations() }, commit.id)
            return true
        }
    }
}
