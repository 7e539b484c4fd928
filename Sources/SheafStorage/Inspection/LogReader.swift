/// A store opened for reading: its newest durable commit, also while another process writes.
///
/// It takes no lock, and neither side waits for the other.
package final class LogReader: Sendable {
    /// The files as they were when the reader was opened.
    let directory: DirectorySnapshot
    let contents: LogContents

    /// Opens the store at `path`; throws if there is none.
    package static func open(at path: String) throws(StorageError) -> LogReader {
        try LogReader(try ReadOnlyVolume.open(at: path))
    }

    /// Opens the store in `volume`.
    package init(_ volume: any Volume) throws(StorageError) {
        (directory, contents) = try Self.read(volume, after: nil)
    }

    /// Creates a reader of files that were read.
    init(_ directory: DirectorySnapshot, _ contents: LogContents) {
        (self.directory, self.contents) = (directory, contents)
    }

    /// Takes the files of a store and reads their headers and footers.
    ///
    /// Files that contradict each other are taken again, in case a writer has just replaced them.
    static func read(
        _ volume: any Volume, after previous: DirectorySnapshot?
    ) throws(StorageError) -> (DirectorySnapshot, LogContents) {
        let directory = try DirectorySnapshot.capture(volume, after: previous)
        do throws(StorageError) {
            return (directory, try LogContents(directory))
        } catch {
            guard case .corrupt = error else { throw error }
            let again = try DirectorySnapshot.capture(volume)
            return (again, try LogContents(again))
        }
    }

    /// The files as they were when the reader was opened; the volume refuses all changes.
    package var volume: any Volume { directory }

    /// The directory as it is now.
    package var currentVolume: any Volume { directory.base }

    /// The identity of the store; nil if there was no commit yet.
    package var store: StoreID? { contents.store }

    /// The last commit in a base file; zero if there is none.
    package var lastCompactedCommit: CommitID {
        contents.files.last { $0.header.kind == .base }?.footer?.lastCommit ?? 0
    }

    /// Returns the state that opening the store would recover.
    package func snapshot() throws(StorageError) -> LogSnapshot {
        try Recovery.read(volume: directory).snapshot
    }

    /// Returns an iterator over the commits after `since`, in order.
    package func commits(since: CommitID = 0) -> CommitReader {
        CommitReader(contents.files, since: since)
    }

    /// Returns the commit `id`; nil if it does not exist or none of it was kept.
    package func commit(_ id: CommitID) throws(StorageError) -> LoggedCommit? {
        guard id > 0 else { return nil }
        var commits = commits(since: id - 1)
        guard let commit = try commits.next(), commit.id == id else { return nil }
        return commit
    }
}

/// A commit as stored in the log.
///
/// Its bytes belong to the reader and are valid while the reader is retained.
package struct LoggedCommit {
    package let id: CommitID
    /// The time in milliseconds since 1970; nil for a compacted commit, whose time is not kept.
    package let time: UInt64?
    /// The number of operations of the commit that the log contains.
    package internal(set) var operationCount: Int
    /// The length of the commit in the log, in bytes.
    package internal(set) var byteCount: Int
    /// The position of the first record, or of the first operation that was kept.
    package let position: LogPosition
    /// Whether compaction has rewritten the commit, so that operations may be missing.
    package var isCompacted: Bool {
        if case .compacted = source { return true }
        return false
    }

    /// The location of the operations of a commit.
    enum Source {
        case records([Record])
        case compacted([LoggedOperation])
    }

    var source: Source

    /// Returns the operations in order.
    package func operations() throws(StorageError) -> [LoggedOperation] {
        var found: [LoggedOperation] = []
        try forEachOperation { position, operation in
            found.append(LoggedOperation(position: position, commit: id, operation: operation))
        }
        return found
    }

    /// Calls `body` with each operation in order.
    func forEachOperation(
        _ body: (_ position: LogPosition, _ operation: Operation) -> Void
    ) throws(StorageError) {
        switch source {
        case .compacted(let operations):
            for logged in operations { body(logged.position, logged.operation) }
        case .records(let records):
            try SheafStorage.forEachOperation(of: records, body)
        }
    }
}
