import SheafBytes
package import SheafDocument
package import SheafStorage

/// The origin of each value in a document: its stamp, and the commit that brought it.
package struct Blame: Sendable {
    /// An item of the document with its origin.
    package struct Line: Sendable {
        package let path: [String]
        package let kind: DotWalk.Item.Kind
        package let value: Value?
        package let stamp: Stamp
        /// The commit that brought the item into the store.
        package let commit: CommitID
        /// Whether `commit` is exact; otherwise a commit before it may have brought the item.
        package let isExact: Bool
    }

    package let lines: [Line]
    /// The stamp of the last deletion of the document; nil if it was never deleted.
    package let deletion: Stamp?
    package let exists: Bool
}

extension DocumentSnapshot {
    /// Returns the origins of the values in a document; nil if the store has no such document.
    package func blame(_ key: [UInt8]) throws(EngineError) -> Blame? {
        guard let document = try document(key) else { return nil }
        var operations: [LoggedOperation] = []
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        while let logged = try onStorage({ () throws(StorageError) in try history.next() }),
            logged.operation.kind != .remove
        {
            operations.append(logged)
        }
        // Items covered by the oldest operation may stem from operations that compaction removed.
        let isComplete = !history.isCompactedAway
        return try onDocument(key) { () throws(Malformed) in
            let past = try PastOperations(operations, isComplete: isComplete, names)
            return try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                var items: [DotWalk.Item] = []
                try DotWalk.visit(document, names) { items.append($0) }
                var lines: [Blame.Line] = []
                for item in items {
                    guard let stamp = item.stamp else { continue }
                    let (commit, isExact) = past.origin(of: item, stamp)
                    lines.append(
                        Blame.Line(
                            path: item.path, kind: item.kind, value: item.value, stamp: stamp,
                            commit: commit, isExact: isExact))
                }
                // Sorting by path puts a map before its items. Name numbers mean nothing to
                // readers.
                lines.sort { left, right in
                    left.path.lexicographicallyPrecedes(right.path) {
                        UTF8Order.compare($0, $1) < 0
                    }
                }
                return Blame(
                    lines: lines, deletion: try document.deletion(),
                    exists: try document.exists())
            }
        }
    }
}

/// The version vectors of the operations on a document, newest first.
private struct PastOperations {
    private struct Entry {
        let commit: CommitID
        let vector: VersionVector
        let base: VersionVector
        /// The items written with INITIAL that the operation contains.
        var seeds: [DotWalk.Item] = []
    }

    private var entries: [Entry] = []
    private let isComplete: Bool

    init(
        _ operations: [LoggedOperation], isComplete: Bool, _ names: NameTable
    ) throws(Malformed) {
        self.isComplete = isComplete
        for logged in operations {
            let payload = try DocumentPayload(logged.operation.payload)
            var entry = Entry(
                commit: logged.commit, vector: try payload.vector(),
                base: try payload.baseVector())
            for document in [payload.state, payload.delta] {
                guard let document else { continue }
                try DotWalk.visit(document, names) { item in
                    if item.stamp == .initial { entry.seeds.append(item) }
                }
            }
            entries.append(entry)
        }
    }

    /// Returns the commit of the oldest operation that covers an item, and whether it is exact.
    func origin(of item: DotWalk.Item, _ stamp: Stamp) -> (CommitID, isExact: Bool) {
        let oldest = entries.lastIndex { entry in
            stamp == .initial
                ? entry.seeds.contains {
                    $0.path == item.path && "\($0.kind)" == "\(item.kind)"
                        && $0.value == item.value
                } : entry.vector.covers(stamp)
        }
        guard let oldest else { return (entries.last?.commit ?? 0, false) }
        let entry = entries[oldest]
        let isFirst = oldest == entries.count - 1
        let wasKnown = stamp != .initial && entry.base.covers(stamp)
        return (entry.commit, !wasKnown && (isComplete || !isFirst || stamp != .initial))
    }
}
