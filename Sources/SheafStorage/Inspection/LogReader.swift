/// A store that was opened to be looked at: nothing in its directory changes.
///
/// Many may look at once; a writer keeps all of them out, and they keep out a writer.
package final class LogReader: Sendable {
    package let volume: any Volume
    let contents: LogContents
    private let lock: any VolumeLock

    /// Opens the store at `path`.
    package static func open(at path: String) throws(StorageError) -> LogReader {
        try LogReader(try ReadOnlyVolume.open(at: path))
    }

    /// Opens the store in `volume`.
    package init(_ volume: any Volume) throws(StorageError) {
        let lock = try StoreEngine.acquire(.shared, of: volume)
        do throws(StorageError) {
            contents = try LogContents(volume)
        } catch {
            lock.release()
            throw error
        }
        self.volume = volume
        self.lock = lock
    }

    deinit {
        lock.release()
    }

    /// Lets go of the store; what was read stays valid as long as the reader does.
    package func close() {
        lock.release()
    }

    /// The identity of the store; none while nothing was ever committed.
    package var store: StoreID? { contents.store }

    /// The last commit that compaction has folded away; zero where it has folded nothing.
    package var lastFoldedCommit: CommitID {
        contents.files.last { $0.header.kind == .base }?.footer?.lastCommit ?? 0
    }

    /// The newest state, as an opening would find it.
    package func snapshot() throws(StorageError) -> LogSnapshot {
        try Recovery.read(volume: volume).snapshot
    }

    /// The commits behind commit `since`, in order.
    package func commits(since: CommitID = 0) -> CommitReader {
        CommitReader(contents.files, since: since)
    }

    /// The commit `id`; none when there is no such commit, or nothing of it was kept.
    package func commit(_ id: CommitID) throws(StorageError) -> LoggedCommit? {
        guard id > 0 else { return nil }
        var commits = commits(since: id - 1)
        guard let commit = try commits.next(), commit.id == id else { return nil }
        return commit
    }
}

/// A commit as the log has it.
///
/// Its bytes belong to the reader that it came from, and are valid as long as that is.
package struct LoggedCommit {
    package let id: CommitID
    /// Milliseconds since 1970; none for a folded commit, whose time was not kept.
    package let time: UInt64?
    /// How many operations the log has of it.
    package internal(set) var operationCount: Int
    /// The bytes that it takes in the log.
    package internal(set) var byteCount: Int
    /// Where its first record is, or the first operation that was kept.
    package let position: LogPosition
    /// Whether compaction has folded it, so that only some of its operations may be left.
    package var isFolded: Bool {
        if case .folded = source { return true }
        return false
    }

    enum Source {
        case records([Record])
        case folded([LoggedOperation])
    }

    var source: Source

    /// The operations in order.
    package func operations() throws(StorageError) -> [LoggedOperation] {
        switch source {
        case .folded(let operations): return operations
        case .records(let records):
            var found: [LoggedOperation] = []
            try forEachOperation(of: records) { position, operation in
                found.append(
                    LoggedOperation(position: position, commit: id, operation: operation))
            }
            return found
        }
    }
}
