package import SheafBytes

/// The state of a store after one durable commit, immutable and valid while it is referenced.
///
/// Reading makes no system call and never waits for a writer.
package final class LogSnapshot: Sendable {
    /// The tree of keys, whose values are record pointers.
    package let tree: BTreeSnapshot
    /// The files that the record pointers refer to.
    package let segments: SegmentTable
    /// The last commit visible in the snapshot.
    package let commit: CommitID
    /// The time of the last commit in milliseconds since 1970.
    package let commitAt: UInt64
    /// The end of the last commit in the log.
    package let end: LogPosition

    /// The commit up to which the index entries are complete.
    package let indexMark: IndexMark

    /// Cached log orders of scanned ranges.
    let logOrders = LogOrders()
    /// The checksum of the last record before `end`.
    let chain: UInt64
    /// The grown length of the log, as in `EngineState`.
    ///
    /// Readers do not use it, so their snapshots keep the first value.
    let grownLength: Int

    init(
        tree: BTreeSnapshot, segments: SegmentTable, commit: CommitID, commitAt: UInt64,
        end: LogPosition, indexMark: IndexMark, chain: UInt64, grownLength: Int
    ) {
        self.indexMark = indexMark
        self.chain = chain
        self.grownLength = grownLength
        self.tree = tree
        self.segments = segments
        self.commit = commit
        self.commitAt = commitAt
        self.end = end
    }

    /// Returns the same state, read from other files.
    package func with(_ segments: SegmentTable) -> LogSnapshot {
        LogSnapshot(
            tree: tree, segments: segments, commit: commit, commitAt: commitAt, end: end,
            indexMark: indexMark, chain: chain, grownLength: grownLength)
    }

    /// Returns the same state with complete index entries in `tree`.
    func with(indexed tree: BTreeSnapshot, grownLength: Int) -> LogSnapshot {
        LogSnapshot(
            tree: tree, segments: segments, commit: commit, commitAt: commitAt, end: end,
            indexMark: IndexMark(commit: commit, end: end), chain: chain, grownLength: grownLength)
    }

    /// Returns the same state with further weights in `tree`.
    func with(weighted tree: BTreeSnapshot, grownLength: Int) -> LogSnapshot {
        LogSnapshot(
            tree: tree, segments: segments, commit: commit, commitAt: commitAt, end: end,
            indexMark: indexMark, chain: chain, grownLength: grownLength)
    }

    /// The range of the keys that have a payload.
    package var keys: KeyRange { Keyspace.present }

    /// The number of keys that have a payload.
    package var count: Int { tree.count(in: Keyspace.present) }

    /// Returns the pointer to the newest operation of `key`; nil if the key has no payload.
    package func recordPointer(of key: UnsafeRawBufferPointer) -> RecordPointer? {
        tree.find(key).flatMap(RecordPointer.init)
    }

    /// Returns the payload of `key`; the bytes are valid while the snapshot is.
    ///
    /// Throws if the key has deltas, and thus several payloads: use `operations(of:)`.
    package func payload(
        of key: UnsafeRawBufferPointer
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        guard let first = key.first, Operation.isLogged(firstByte: first),
            key.count <= Limits.maximumKeyLength, let pointer = recordPointer(of: key)
        else { return nil }
        guard !pointer.isDelta else { throw .deltaFollows(at: pointer.position) }
        return try operation(of: key, at: pointer).payload
    }

    /// Returns the newest operation of `key`, whose pointer in the tree is `pointer`.
    package func operation(
        of key: UnsafeRawBufferPointer, at pointer: RecordPointer
    ) throws(StorageError) -> Operation {
        guard let operation = try segments.operation(at: pointer.position) else {
            throw disagreement(
                at: pointer.position, "the tree points to an operation that compaction dropped")
        }
        try check(operation, of: key, at: pointer)
        return operation
    }

    /// Throws if the operation found at `pointer` does not match the tree.
    @inline(__always)
    func check(
        _ operation: Operation, of key: UnsafeRawBufferPointer, at pointer: RecordPointer
    ) throws(StorageError) {
        guard Self.isAt(operation, pointer), operation.key.hasSameBytes(as: key) else {
            throw disagreement(at: pointer.position, "the tree points to another key's operation")
        }
    }

    /// Throws if the operation found at `pointer`, whose key is unknown, does not match the tree.
    @inline(__always)
    func check(_ operation: Operation, at pointer: RecordPointer) throws(StorageError) {
        guard Self.isAt(operation, pointer), operation.kind != .remove else {
            throw disagreement(at: pointer.position, "the tree points to another operation")
        }
    }

    @inline(__always)
    private static func isAt(_ operation: Operation, _ pointer: RecordPointer) -> Bool {
        operation.length == pointer.length && (operation.kind == .delta) == pointer.isDelta
    }

    /// Creates an error for bytes at a position that contradict the tree.
    package func disagreement(at position: LogPosition, _ reason: String) -> StorageError {
        segments.disagreement(at: position, reason)
    }
}

extension LogSnapshot {
    /// Returns the pointer to the removal of `key`; nil unless the log still contains one.
    package func removal(of key: UnsafeRawBufferPointer) -> RecordPointer? {
        Keyspace.withRemovedKey(key) { tree.find($0) }.flatMap(RecordPointer.init)
    }

    /// Calls `body` with each removed key of a range and the pointer to its removal.
    ///
    /// Removals that compaction has dropped are skipped.
    package func forEachRemoval(
        in range: KeyRange,
        _ body: (_ key: UnsafeRawBufferPointer, _ pointer: RecordPointer) -> Void
    ) {
        let removed = KeyRange(
            from: [0] + range.lower, to: range.upper.map { [0] + $0 } ?? Keyspace.removed.upper)
        tree.forEach(in: removed) { key, value in
            guard let pointer = RecordPointer(value) else { return true }
            body(UnsafeRawBufferPointer(rebasing: key.dropFirst()), pointer)
            return true
        }
    }
}

extension LogSnapshot {
    /// The length of the newest operations of the keys in a range.
    package func newestLength(in range: KeyRange) -> Int {
        var length = 0
        tree.forEachValues(in: range, reversed: false) { values in
            for index in 0..<values.count { length += RecordPointer(values[index])?.length ?? 0 }
            return true
        }
        return length
    }
}
