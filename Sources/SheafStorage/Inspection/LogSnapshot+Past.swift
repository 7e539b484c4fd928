import SheafBytes

/// The state of a store after an earlier commit.
package struct PastState: Sendable {
    /// The state, whose index entries are those of the newer one.
    package let snapshot: LogSnapshot
    /// The keys that later commits have written or removed, in order.
    package let changedKeys: [[UInt8]]
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

    /// Returns the last commit that was not made after a time in milliseconds since 1970.
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
        let keys = try changedKeys(from: first, commits)
        let hasRemovals = !tree.isEmpty(in: Keyspace.removed)
        var tree = BTree(forking: tree)
        for key in keys {
            let logged = try key.span.withUnsafeBytes { (key) throws(StorageError) in
                try newest(of: key, asOf: commit)
            }
            key.withUnsafeBytes { Self.set($0, logged, in: &tree, hasRemovals: hasRemovals) }
        }
        return PastState(
            snapshot: LogSnapshot(
                tree: tree.snapshot(), segments: segments, commit: commit,
                commitAt: try time(of: commit) ?? commitAt, end: first.position,
                indexMark: IndexMark(commit: 0, end: .none), chain: chain, grownLength: grownLength),
            changedKeys: keys)
    }

    /// Returns the pointer to the newest operation of a key up to a commit from `compactedThrough`
    /// on; nil if the key had no payload then.
    package func recordPointer(
        of key: UnsafeRawBufferPointer, asOf commit: CommitID
    ) throws(StorageError) -> RecordPointer? {
        let logged = try newest(of: key, asOf: commit)
        return logged.flatMap { $0.operation.kind == .remove ? nil : $0.pointer }
    }

    /// Returns the same state with changed index entries, which then are complete.
    package func with(_ changes: IndexChanges) -> LogSnapshot {
        var keyspace = Keyspace(adopting: BTree(forking: tree), live: LiveBytes())
        keyspace.removeEntries(changes)
        keyspace.addIndexEntries(changes)
        return with(indexed: keyspace.tree.snapshot(), grownLength: grownLength)
    }

    /// The number of bytes of log per key above which visiting all keys is faster.
    ///
    /// Reading an operation takes about as long as visiting a hundred keys.
    private static let lengthPerKey = 4

    /// Returns the keys that commits have written or removed, from `first` on, in order.
    private func changedKeys(
        from first: LoggedCommit, _ later: CommitReader
    ) throws(StorageError) -> [[UInt8]] {
        let length = segments.files.reduce(0) { length, file in
            let segments = file.header.segments
            guard segments.upperBound >= first.position.segment else { return length }
            let start = segments.contains(first.position.segment) ? first.position.offset : 0
            return length + max(file.content.count - start, 0)
        }
        guard length <= tree.count * Self.lengthPerKey else {
            return keysWritten(from: first.position)
        }
        var keys: Set<[UInt8]> = []
        var commits = later
        var next: LoggedCommit? = first
        while let commit = next {
            for logged in try commit.operations() { keys.insert(Array(logged.operation.key)) }
            next = try commits.next()
        }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Returns the keys whose newest operation is at a position or after it, in order.
    private func keysWritten(from position: LogPosition) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        tree.forEach(in: Keyspace.present) { key, value in
            if let pointer = RecordPointer(value), pointer.position >= position {
                keys.append(Array(key))
            }
            return true
        }
        let presentCount = keys.count
        forEachRemoval(in: Keyspace.present) { key, pointer in
            if pointer.position >= position { keys.append(Array(key)) }
        }
        // Both parts are in order.
        guard keys.count > presentCount else { return keys }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
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
        guard file?.isLog == true else { return nil }
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
