import SheafBytes

/// The keys that commits after an earlier one have written or removed, in order.
///
/// The first operation of these commits on a key refers to the operation before it, which is the
/// newest one of the earlier state.
struct LaterChanges {
    /// A key, and its first operation after the earlier commit.
    struct Change {
        /// The key, valid while the files of the log are.
        let key: UnsafeRawBufferPointer
        let position: LogPosition
        /// The position of the key's operation before.
        let previous: LogPosition
    }

    private(set) var changes: [Change] = []
    /// The number of changes, after those sorted before, at which they are sorted again.
    private var limit = Self.minimumLimit

    /// Sorting drops the further operations on a key, which bounds the memory.
    private static let minimumLimit = 1 << 17

    /// Reads the changes of a commit and of the commits after it.
    init(_ first: LoggedCommit, _ later: CommitReader) throws(StorageError) {
        var commits = later
        var next: LoggedCommit? = first
        while let commit = next {
            try commit.forEachOperation { position, operation in
                changes.append(
                    Change(key: operation.key, position: position, previous: operation.previous))
            }
            if changes.count >= limit { sort() }
            next = try commits.next()
        }
        sort()
    }

    /// Sorts the changes by key, and keeps the first one of each key.
    private mutating func sort() {
        let order = KeyOrder.sorted(changes.count) { changes[$0].key }
        var kept: [Change] = []
        kept.reserveCapacity(order.count)
        for index in order {
            let change = changes[index]
            if let last = kept.last, last.key.compare(change.key) == 0 { continue }
            kept.append(change)
        }
        changes = kept
        limit = max(2 * kept.count, Self.minimumLimit)
    }
}
