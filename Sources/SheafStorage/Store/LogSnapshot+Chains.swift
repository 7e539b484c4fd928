extension LogSnapshot {
    /// What the state of `key` stands on, the newest first: extensions, and then a put; nothing for
    /// a key that has no payload.
    package func operations(
        of key: UnsafeRawBufferPointer
    ) throws(StorageError) -> [LoggedOperation] {
        guard Self.isKey(key), let place = place(of: key) else { return [] }
        return try operations(of: key, at: place)
    }

    /// What the state of `key` stands on, whose newest operation the tree says is at `place`.
    package func operations(
        of key: UnsafeRawBufferPointer, at place: Place
    ) throws(StorageError) -> [LoggedOperation] {
        var operations: [LoggedOperation] = []
        try forEachOperation(of: key, at: place) { operations.append($0) }
        return operations
    }

    /// Calls `body` with what the state of `key` stands on, the newest first, up to its put.
    package func forEachOperation(
        of key: UnsafeRawBufferPointer, at place: Place, _ body: (LoggedOperation) -> Void
    ) throws(StorageError) {
        guard let newest = try segments.loggedOperation(at: place.position) else {
            throw disagreement(
                at: place.position, "the tree names an operation that was folded away")
        }
        try check(newest.operation, of: key, at: place)
        try forEachOperation(from: newest, body)
    }

    /// Calls `body` with an operation and what it stands on, up to its put.
    private func forEachOperation(
        from newest: LoggedOperation, _ body: (LoggedOperation) -> Void
    ) throws(StorageError) {
        body(newest)
        guard newest.operation.kind == .extend else { return }
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
        throw disagreement(at: last, "the operation extends what is not there")
    }

    /// The operation at a place to which a link leads, and what it stands on, the newest first.
    ///
    /// The operations say what their key is.
    package func operations(at place: Place) throws(StorageError) -> [LoggedOperation] {
        let newest = try operation(at: place)
        guard place.isExtension else { return [newest] }
        var operations: [LoggedOperation] = []
        try forEachOperation(from: newest) { operations.append($0) }
        return operations
    }

    /// The newest operation of whatever key the tree says is at a place.
    @inline(__always)
    package func newestOperation(at place: Place) throws(StorageError) -> Operation {
        guard let operation = try segments.operation(at: place.position) else {
            throw disagreement(
                at: place.position, "the tree names an operation that was folded away")
        }
        try check(operation, at: place)
        return operation
    }

    /// The operation at a place to which a link leads.
    package func operation(at place: Place) throws(StorageError) -> LoggedOperation {
        guard let newest = try segments.loggedOperation(at: place.position) else {
            throw disagreement(
                at: place.position, "the tree names an operation that was folded away")
        }
        try check(newest.operation, at: place)
        return newest
    }

    /// Returns the first operation of the commit that wrote an operation; nil if compaction has folded the commit, or
    /// the operation is in a later record of a long commit.
    package func firstOperation(
        ofCommitOf logged: LoggedOperation
    ) throws(StorageError) -> Operation? {
        try segments.firstOperation(ofCommitOf: logged)
    }

    /// Everything that the log still knows of `key`, be it live or removed.
    package func history(of key: UnsafeRawBufferPointer) -> KeyHistory {
        let newest = Self.isKey(key) ? place(of: key) ?? removal(of: key) : nil
        return KeyHistory(of: key, from: newest?.position ?? .none, before: end, in: self)
    }

    /// What `key` stood on after `commit`, the newest first: nothing where it had no payload, and
    /// none where the past is not known so far back.
    ///
    /// From commit `foldedThrough` on everything is known. Before it, a key may seem to have had no
    /// payload whose removal was forgotten.
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
        // From `foldedThrough` on, only a removal can be missing: then the key was not there.
        if history.isFoldedAway, commit < foldedThrough { return nil }
        guard let last = operations.last else { return [] }
        throw disagreement(at: last.position, "the operation extends what is not there")
    }

    private func checkLength(_ count: Int) throws(StorageError) {
        guard count <= Limits.maximumChainLength else {
            throw .limit(
                name: "maximumChainLength", value: count, limit: Limits.maximumChainLength)
        }
    }

    private static func isKey(_ key: UnsafeRawBufferPointer) -> Bool {
        Keyspace.isLogged(firstByte: key.first ?? 0) && key.count <= Limits.maximumKeyLength
    }

    /// The last commit of which compaction may have dropped something.
    package var foldedThrough: CommitID {
        segments.files.map(\.header.foldedThrough).max() ?? 0
    }

    /// Where the last removal was that compaction has forgotten.
    package var removalsFoldedThrough: LogPosition {
        segments.files.compactMap(\.footer).map(\.removalsFoldedThrough).max() ?? .none
    }
}

/// The operations of a key, the newest first, as far as the log remembers.
package struct KeyHistory {
    private let key: [UInt8]
    private let snapshot: LogSnapshot
    private var position: LogPosition
    /// The place of the operation that was found last, which what is older lies before.
    private var limit: LogPosition
    /// Whether there was more once, which compaction has dropped.
    package private(set) var isFoldedAway = false

    init(
        of key: UnsafeRawBufferPointer, from newest: LogPosition, before limit: LogPosition,
        in snapshot: LogSnapshot
    ) {
        self.key = Array(key)
        self.snapshot = snapshot
        self.limit = limit
        position = newest
    }

    /// The next older operation; nothing where the key begins, or what is older was folded away.
    package mutating func next() throws(StorageError) -> LoggedOperation? {
        guard position != .none else { return nil }
        guard position < limit else {
            throw snapshot.disagreement(at: limit, "the chain of a key does not lead back")
        }
        guard let found = try snapshot.segments.loggedOperation(at: position) else {
            position = .none
            isFoldedAway = true
            return nil
        }
        guard found.operation.key.elementsEqual(key) else {
            throw snapshot.disagreement(at: position, "the chain of a key leads to another key")
        }
        limit = position
        position = found.operation.previous
        return found
    }
}
