package import SheafBytes

/// A store as it was after one durable commit; valid as long as somebody holds it.
///
/// Reading makes no system call and takes no lock.
package final class LogSnapshot: Sendable {
    /// The tree of keys; values are places in the log.
    package let tree: BTreeSnapshot
    /// The files that the places point into.
    package let segments: SegmentTable
    /// The last commit that the snapshot shows.
    package let commit: CommitID
    /// When that was, in milliseconds since 1970.
    package let commitAt: UInt64
    /// Where that commit ends in the log.
    package let end: LogPosition

    /// Up to which commit the links are right.
    package let linked: LinkMark

    /// How scans went through this state.
    let logOrders = LogOrders()
    /// The checksum of the last record before `end`.
    let chain: UInt64
    /// The bytes that the log had grown by.
    let grownLength: Int

    init(
        tree: BTreeSnapshot, segments: SegmentTable, commit: CommitID, commitAt: UInt64,
        end: LogPosition, linked: LinkMark, chain: UInt64, grownLength: Int
    ) {
        self.linked = linked
        self.chain = chain
        self.grownLength = grownLength
        self.tree = tree
        self.segments = segments
        self.commit = commit
        self.commitAt = commitAt
        self.end = end
    }

    /// The same state, read from other files.
    func with(_ segments: SegmentTable) -> LogSnapshot {
        LogSnapshot(
            tree: tree, segments: segments, commit: commit, commitAt: commitAt, end: end,
            linked: linked, chain: chain, grownLength: grownLength)
    }

    /// The same state with all its links in `tree`.
    func with(linked tree: BTreeSnapshot, grownLength: Int) -> LogSnapshot {
        LogSnapshot(
            tree: tree, segments: segments, commit: commit, commitAt: commitAt, end: end,
            linked: LinkMark(commit: commit, end: end), chain: chain, grownLength: grownLength)
    }

    /// The keys that have a payload.
    package var keys: KeyRange { Keyspace.present }

    /// How many keys have a payload.
    package var count: Int { tree.count(in: Keyspace.present) }

    /// Where the newest operation of `key` is, if the key has a payload.
    package func place(of key: UnsafeRawBufferPointer) -> Place? {
        tree.find(key).flatMap(Place.init)
    }

    /// The payload of `key`; the bytes are valid as long as the snapshot is.
    ///
    /// A key that was extended has several, and is refused: `operations(of:)` reads it.
    package func payload(
        of key: UnsafeRawBufferPointer
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        guard let first = key.first, Keyspace.isLogged(firstByte: first),
            key.count <= Limits.maximumKeyLength, let place = place(of: key)
        else { return nil }
        guard !place.isExtension else { throw .extended(at: place.position) }
        return try operation(of: key, at: place).payload
    }

    /// The newest operation of `key`, which the tree says is at `place`.
    package func operation(
        of key: UnsafeRawBufferPointer, at place: Place
    ) throws(StorageError) -> Operation {
        guard let operation = try segments.operation(at: place.position) else {
            throw disagreement(
                at: place.position, "the tree names an operation that was folded away")
        }
        try check(operation, of: key, at: place)
        return operation
    }

    /// Refuses what was found at `place` if it is not what the tree says.
    @inline(__always)
    func check(
        _ operation: Operation, of key: UnsafeRawBufferPointer, at place: Place
    ) throws(StorageError) {
        guard Self.isAt(operation, place), operation.key.elementsEqual(key) else {
            throw disagreement(at: place.position, "the tree names an operation of another key")
        }
    }

    /// Refuses what was found at `place`, whose key nobody knows, if it is not what the tree says.
    @inline(__always)
    func check(_ operation: Operation, at place: Place) throws(StorageError) {
        guard Self.isAt(operation, place), operation.kind != .remove else {
            throw disagreement(at: place.position, "the tree names another operation")
        }
    }

    @inline(__always)
    private static func isAt(_ operation: Operation, _ place: Place) -> Bool {
        operation.length == place.length && (operation.kind == .extend) == place.isExtension
    }

    /// That what lies at a position is not what it has to be.
    package func disagreement(at position: LogPosition, _ reason: String) -> StorageError {
        segments.disagreement(at: position, reason)
    }
}

extension LogSnapshot {
    /// Where the removal of `key` is, if the key was removed and the log still says so.
    package func removal(of key: UnsafeRawBufferPointer) -> Place? {
        Keyspace.withRemovedKey(key) { tree.find($0) }.flatMap(Place.init)
    }

    /// Calls `body` with each key of a range that was removed, and where its removal is, if the log
    /// still says so.
    package func forEachRemoval(
        in range: KeyRange, _ body: (_ key: UnsafeRawBufferPointer, _ place: Place) -> Void
    ) {
        let removed = KeyRange(
            from: [0] + range.lower, to: range.upper.map { [0] + $0 } ?? Keyspace.removed.upper)
        tree.forEach(in: removed) { key, value in
            guard let place = Place(value) else { return true }
            body(UnsafeRawBufferPointer(rebasing: key.dropFirst()), place)
            return true
        }
    }
}
