import SheafBytes

extension LogSnapshot {
    /// Returns the operations that make up `key`, newest first: deltas, then a put.
    ///
    /// Returns an empty array if the key has no payload.
    package func operations(
        of key: UnsafeRawBufferPointer
    ) throws(StorageError) -> [LoggedOperation] {
        guard Self.isKey(key), let pointer = recordPointer(of: key) else { return [] }
        return try operations(of: key, at: pointer)
    }

    /// Returns the operations that make up `key`, whose newest operation is at `pointer`.
    package func operations(
        of key: UnsafeRawBufferPointer, at pointer: RecordPointer
    ) throws(StorageError) -> [LoggedOperation] {
        var operations: [LoggedOperation] = []
        try forEachOperation(of: key, at: pointer) { operations.append($0) }
        return operations
    }

    /// Calls `body` with the operations that make up `key`, newest first, down to its put.
    package func forEachOperation(
        of key: UnsafeRawBufferPointer, at pointer: RecordPointer, _ body: (LoggedOperation) -> Void
    ) throws(StorageError) {
        guard let newest = try segments.loggedOperation(at: pointer.position) else {
            throw disagreement(
                at: pointer.position, "the tree points to an operation that compaction dropped")
        }
        try check(newest.operation, of: key, at: pointer)
        try forEachOperation(from: newest, body)
    }

    /// Calls `body` with an operation and the operations it is based on, down to the put.
    private func forEachOperation(
        from newest: LoggedOperation, _ body: (LoggedOperation) -> Void
    ) throws(StorageError) {
        body(newest)
        guard newest.operation.kind == .delta else { return }
        let key = newest.operation.key
        var history = KeyHistory(
            of: key, from: newest.operation.previous, before: newest.position, in: self)
        var count = 1
        var last = newest.position
        while let found = try history.next(), found.operation.kind != .remove {
            count += 1
            try checkLength(count)
            body(found)
            if found.operation.kind == .put { return }
            last = found.position
        }
        throw disagreement(at: last, "the delta has no operation it is based on")
    }

    /// Returns the operation that an index entry points to and its bases, newest first.
    ///
    /// The key is read from the operations.
    package func operations(at pointer: RecordPointer) throws(StorageError) -> [LoggedOperation] {
        let newest = try operation(at: pointer)
        guard pointer.isDelta else { return [newest] }
        var operations: [LoggedOperation] = []
        try forEachOperation(from: newest) { operations.append($0) }
        return operations
    }

    /// Returns the operation at `pointer`, a pointer from the tree; its key is not checked.
    @inline(__always)
    package func newestOperation(at pointer: RecordPointer) throws(StorageError) -> Operation {
        guard let operation = try segments.operation(at: pointer.position) else {
            throw disagreement(
                at: pointer.position, "the tree points to an operation that compaction dropped")
        }
        try check(operation, at: pointer)
        return operation
    }

    /// Returns the operation that an index entry points to.
    package func operation(at pointer: RecordPointer) throws(StorageError) -> LoggedOperation {
        guard let newest = try segments.loggedOperation(at: pointer.position) else {
            throw disagreement(
                at: pointer.position, "the tree points to an operation that compaction dropped")
        }
        try check(newest.operation, at: pointer)
        return newest
    }

    /// Returns the first operation of the commit that wrote an operation.
    ///
    /// Returns nil if compaction has rewritten the commit, or the operation is in a later record of
    /// a long commit.
    package func firstOperation(
        ofCommitOf logged: LoggedOperation
    ) throws(StorageError) -> Operation? {
        try segments.firstOperation(ofCommitOf: logged)
    }

    /// Returns the operations of `key` that the log still contains, even if the key was removed.
    package func history(of key: UnsafeRawBufferPointer) -> KeyHistory {
        let newest = Self.isKey(key) ? recordPointer(of: key) ?? removal(of: key) : nil
        return KeyHistory(of: key, from: newest?.position ?? .none, before: end, in: self)
    }

    /// Returns the operations that made up `key` after `commit`, newest first.
    ///
    /// The result is empty if the key had no payload, and nil if the log does not reach back so
    /// far. The result is exact for commits from `compactedThrough` on. Before it, a key whose
    /// removal was dropped may appear to have had no payload.
    package func operations(
        of key: UnsafeRawBufferPointer, asOf commit: CommitID
    ) throws(StorageError) -> [LoggedOperation]? {
        var history = history(of: key)
        var operations: [LoggedOperation] = []
        while let found = try history.next() {
            guard found.commit <= commit else { continue }
            guard found.operation.kind != .remove else { break }
            operations.append(found)
            try checkLength(operations.count)
            if found.operation.kind == .put { return operations }
        }
        // From `compactedThrough` on only a removal can be missing, so the key did not exist.
        if history.isCompactedAway, commit < compactedThrough { return nil }
        guard let last = operations.last else { return [] }
        throw disagreement(at: last.position, "the delta has no operation it is based on")
    }

    private func checkLength(_ count: Int) throws(StorageError) {
        guard count <= Limits.maximumChainLength else {
            throw .limit(
                name: "maximumChainLength", value: count, limit: Limits.maximumChainLength)
        }
    }

    private static func isKey(_ key: UnsafeRawBufferPointer) -> Bool {
        Operation.isLogged(firstByte: key.first ?? 0) && key.count <= Limits.maximumKeyLength
    }

    /// The last commit that compaction may have changed.
    package var compactedThrough: CommitID {
        segments.files.map(\.header.compactedThrough).max() ?? 0
    }

    /// The position of the last removal that compaction dropped.
    package var removalsCompactedThrough: LogPosition {
        segments.files.compactMap(\.footer).map(\.removalsCompactedThrough).max() ?? .none
    }
}

/// An iterator over the operations of a key, newest first, as far as the log contains them.
package struct KeyHistory {
    private let key: [UInt8]
    private let snapshot: LogSnapshot
    private var position: LogPosition
    /// The position of the last operation returned; older operations precede it.
    private var limit: LogPosition
    /// Whether compaction has dropped older operations.
    package private(set) var isCompactedAway = false

    /// Creates an iterator from the operation at `newest`, which must precede `limit`.
    package init(
        of key: UnsafeRawBufferPointer, from newest: LogPosition, before limit: LogPosition,
        in snapshot: LogSnapshot
    ) {
        self.key = Array(key)
        self.snapshot = snapshot
        self.limit = limit
        position = newest
    }

    /// Returns the next older operation; nil if there is none or it was compacted away.
    package mutating func next() throws(StorageError) -> LoggedOperation? {
        guard position != .none else { return nil }
        guard position < limit else {
            throw snapshot.disagreement(at: limit, "the chain of a key does not point backward")
        }
        guard let found = try snapshot.segments.loggedOperation(at: position) else {
            position = .none
            isCompactedAway = true
            return nil
        }
        guard key.span.withUnsafeBytes({ found.operation.key.hasSameBytes(as: $0) }) else {
            throw snapshot.disagreement(at: position, "the chain of a key reaches another key")
        }
        limit = position
        position = found.operation.previous
        return found
    }
}
