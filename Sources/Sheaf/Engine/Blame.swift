import SheafBytes
package import SheafDocument
package import SheafStorage

/// Who has set what in a document, and with which commit it came into the store.
package struct Blame: Sendable {
    /// One thing that somebody has written.
    package struct Line: Sendable {
        package let path: [String]
        package let kind: DotWalk.Item.Kind
        package let value: Value?
        package let stamp: Stamp
        /// The commit that brought it.
        package let commit: CommitID
        /// Whether it came with just that commit, or with one before it that was folded away.
        package let isExact: Bool
    }

    package let lines: [Line]
    /// When the document was deleted last.
    package let deletion: Stamp?
    package let exists: Bool
}

extension DocumentSnapshot {
    /// Who has set what in a document; nothing where nobody has heard of it.
    package func blame(_ key: [UInt8]) throws(EngineError) -> Blame? {
        guard let document = try document(key) else { return nil }
        var operations: [LoggedOperation] = []
        var history = key.span.withUnsafeBytes { log.history(of: $0) }
        while let logged = try onStorage({ () throws(StorageError) in try history.next() }),
            logged.operation.kind != .remove
        {
            operations.append(logged)
        }
        // What was folded away may have brought what the oldest operation knows.
        let isComplete = !history.isFoldedAway
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
                // A map comes before what is in it; numbers of names say nothing to people.
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

/// What each operation on a document had seen, the newest first.
private struct PastOperations {
    private struct Entry {
        let commit: CommitID
        let vector: VersionVector
        let base: VersionVector
        /// What was written with INITIAL, and stands in the operation.
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

    /// The oldest operation that knows something.
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
