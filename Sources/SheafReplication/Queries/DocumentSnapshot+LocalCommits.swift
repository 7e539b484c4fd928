import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafStorage

/// The commits of a document that this store wrote itself.
extension DocumentSnapshot {
    /// Maximum number of operations that are examined for one document.
    static let maximumOperations = 64

    /// Returns the commits after `commit` in which this store wrote a document, in ascending order.
    ///
    /// Commits beyond the available history or `maximumOperations` operations are omitted.
    package func localCommits(
        of key: [UInt8], after commit: CommitID, _ sites: [Site]
    ) throws(EngineError) -> [CommitID] {
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        var found: [CommitID] = []
        var newer: (operation: LoggedOperation, times: [HybridTime])?
        for _ in 0..<Self.maximumOperations {
            let logged = try onStorage { () throws(StorageError) in try history.next() }
            var times = sites.map { _ in HybridTime.initial }
            if let logged, logged.operation.kind != .remove {
                times = try onDocument(key) { () throws(Malformed) in
                    let vector = try DocumentPayload(logged.operation.payload).vector()
                    return sites.map { vector.time(of: $0) }
                }
            }
            let isKnown = logged != nil || !history.isCompactedAway
            if let newer {
                // Writes of a long or compacted commit are detected only by the stamps of local
                // sites.
                let isStamped = isKnown && zip(newer.times, times).contains { $0 > $1 }
                let isOwn = try isLocal(newer.operation) ?? isStamped
                if isOwn { found.append(newer.operation.commit) }
            }
            guard let logged, logged.operation.kind != .remove, logged.commit > commit else {
                break
            }
            newer = (logged, times)
        }
        return found.reversed()
    }

    /// Whether this store wrote an operation itself; nil if the log does not show it.
    private func isLocal(_ logged: LoggedOperation) throws(EngineError) -> Bool? {
        let first = try onStorage { () throws(StorageError) in
            try log.firstOperation(ofCommitOf: logged)
        }
        return first.map { !$0.key.elementsEqual(StoreKey.origin.bytes) }
    }
}
