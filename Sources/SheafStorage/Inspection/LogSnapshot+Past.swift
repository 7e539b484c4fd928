import SheafBytes

/// The state of a store after an earlier commit.
package struct PastState {
    /// The state, whose index entries are those of the newer one.
    package let snapshot: LogSnapshot
    /// The keys that later commits have written or removed, in order.
    package let changedKeys: [ChangedKey]
}

extension LogSnapshot {
    /// Returns an iterator over the commits after `since`, up to that of the snapshot.
    package func commits(since: CommitID) -> CommitReader {
        CommitReader(segments.files(upTo: end), since: since, mayBeTorn: false)
    }

    /// The end of the last commit.
    package var cursor: CommitCursor { CommitCursor(commit: commit, position: end, chain: chain) }

    /// Returns an iterator over the commits after that of an earlier snapshot of the same store.
    ///
    /// It does not read the commits before it, unless compaction has moved them.
    package func commits(after cursor: CommitCursor) -> CommitReader {
        CommitReader(segments.files(upTo: end), after: cursor)
    }

    /// Returns the last commit made up to a time in milliseconds since 1970.
    ///
    /// Returns zero if there is none, and nil if compaction has removed the times of commits up to
    /// there.
    package func commit(at time: UInt64) throws(StorageError) -> CommitID? {
        guard commitAt > time else { return commit }
        var found: CommitID = 0
        for file in segments.files {
            if let footer = file.footer, footer.lastCommitAt <= time {
                found = footer.lastCommit
                continue
            }
            guard file.isLog else { return nil }
            break
        }
        var commits = commits(since: found)
        while let next = try commits.next(), let at = next.time, at <= time { found = next.id }
        return found
    }

    /// Returns the state after a commit from `compactedThrough` to that of the snapshot.
    ///
    /// The tree of the snapshot is copied as far as it differs, so this takes as long as reading
    /// the later commits.
    package func past(_ commit: CommitID) throws(StorageError) -> PastState {
        precondition(
            compactedThrough...self.commit ~= commit, "The log has the states of kept commits.")
        guard commit < self.commit else { return PastState(snapshot: self, changedKeys: []) }
        var commits = commits(since: commit)
        guard let first = try commits.next() else {
            throw disagreement(at: end, "commit \(commit + 1) is missing")
        }
        let later = try LaterChanges(first, commits).changes
        let earlier = try operations(before: later)
        let hasRemovals = !tree.isEmpty(in: Keyspace.removed)
        var tree = BTree(forking: tree)
        var keys: [ChangedKey] = []
        keys.reserveCapacity(later.count)
        for (change, operation) in zip(later, earlier) {
            Self.set(change.key, operation, in: &tree, hasRemovals: hasRemovals)
            keys.append(
                ChangedKey(
                    Array(change.key), operation?.payloadPointer,
                    payload: operation?.operation.payload))
        }
        let past = LogSnapshot(
            tree: tree.snapshot(), segments: segments, commit: commit,
            commitAt: try time(of: commit) ?? commitAt, end: first.position,
            indexMark: IndexMark(commit: 0, end: .none), chain: chain, grownLength: grownLength)
        past.logOrders.derive(from: logOrders, before: first.position, keys)
        return PastState(snapshot: past, changedKeys: keys)
    }

    /// Returns the pointer to the newest operation of a key up to a commit from `compactedThrough`
    /// on; nil if the key had no payload then.
    package func recordPointer(
        of key: UnsafeRawBufferPointer, asOf commit: CommitID
    ) throws(StorageError) -> RecordPointer? {
        let logged = try newest(of: key, asOf: commit)
        return logged?.payloadPointer
    }

    /// Returns the same state with changed index entries, which then are complete.
    package func with(_ changes: IndexChanges) -> LogSnapshot {
        var indexed = tree
        if !changes.isEmpty {
            var keyspace = Keyspace(adopting: BTree(forking: tree), live: LiveBytes())
            keyspace.removeEntries(changes)
            keyspace.addIndexEntries(changes)
            indexed = keyspace.tree.snapshot()
        }
        let changed = with(indexed: indexed, grownLength: grownLength)
        changed.logOrders.adopt(logOrders)
        return changed
    }

    /// Returns the operations on which changes are based; nil where there is none.
    private func operations(
        before changes: [LaterChanges.Change]
    ) throws(StorageError) -> [LoggedOperation?] {
        var operations: [LoggedOperation?] = []
        operations.reserveCapacity(changes.count)
        var trace: UInt64 = 0
        for (index, change) in changes.enumerated() {
            if index % Self.fetchedTogether == 0 {
                let next = changes[index..<min(index + Self.fetchedTogether, changes.count)]
                for change in next { segments.fetch(change.previous, &trace) }
            }
            operations.append(try operation(before: change))
        }
        withExtendedLifetime(trace) {}
        return operations
    }

    /// The number of operations loaded into caches before the first of them is read.
    private static let fetchedTogether = 128

    private func operation(
        before change: LaterChanges.Change
    ) throws(StorageError) -> LoggedOperation? {
        guard change.previous != .none else { return nil }
        guard change.previous < change.position else {
            throw disagreement(
                at: change.position, "the chain of a key does not point backward")
        }
        // Compaction drops removals only.
        guard let found = try segments.loggedOperation(at: change.previous) else { return nil }
        guard found.operation.key.compare(change.key) == 0 else {
            throw disagreement(at: change.previous, "the chain of a key reaches another key")
        }
        return found
    }

    /// Returns the newest operation of a key up to a commit, which may be a removal.
    private func newest(
        of key: UnsafeRawBufferPointer, asOf commit: CommitID
    ) throws(StorageError) -> LoggedOperation? {
        var history = history(of: key)
        while let logged = try history.next() {
            if logged.commit <= commit { return logged }
        }
        return nil
    }

    /// Records the newest operation of a key in a tree.
    private static func set(
        _ key: UnsafeRawBufferPointer, _ logged: LoggedOperation?, in tree: inout BTree,
        hasRemovals: Bool
    ) {
        let pointer = logged?.pointer
        let isRemoval = logged?.operation.kind == .remove
        if let pointer, !isRemoval {
            tree.put(key, pointer.value)
        } else {
            tree.remove(key)
        }
        guard isRemoval || hasRemovals else { return }
        _ = Keyspace.withRemovedKey(key) { removed in
            isRemoval ? pointer.flatMap { tree.put(removed, $0.value) } : tree.remove(removed)
        }
    }

    /// Returns the time of a commit; nil if compaction has removed it.
    package func time(of commit: CommitID) throws(StorageError) -> UInt64? {
        guard commit > 0 else { return 0 }
        guard commit != self.commit else { return commitAt }
        // Footers have the time of their last commit, also in base files.
        let file = segments.files.first { ($0.footer?.lastCommit ?? .max) >= commit }
        if let footer = file?.footer, footer.lastCommit == commit { return footer.lastCommitAt }
        // A compacted commit has no time.
        var commits = commits(since: commit - 1)
        guard let found = try commits.next(), found.id == commit else { return nil }
        return found.time
    }
}

extension LoggedOperation {
    fileprivate var pointer: RecordPointer {
        RecordPointer(
            position: position, length: operation.length, isDelta: operation.kind == .delta)
    }

    /// The pointer to the operation, unless it is a removal.
    fileprivate var payloadPointer: RecordPointer? {
        operation.kind == .remove ? nil : pointer
    }
}

extension SegmentTable {
    /// Returns the files with the log up to a position.
    fileprivate func files(upTo end: LogPosition) -> [LogContents.File] {
        files.filter { $0.header.segments.lowerBound <= end.segment }.map { file in
            file.isLog && file.header.segments.upperBound == end.segment
                ? file.file(upTo: end.offset) : file.file
        }
    }
}
