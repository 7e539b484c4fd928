import SheafDocument
package import SheafEngine
import SheafStatements
package import SheafStorage

/// The commits of a store as server-sent events, for one client.
package struct ChangeStream {
    let body: StreamBody
    private let hasChanges: Bool
    /// Time without a commit after which a comment keeps the connection open.
    private let silenceNanoseconds: UInt64
    /// The newest commit that has been written as an event.
    private var last: CommitID
    /// The end of the last commit that has been read; nil before the first one.
    private var cursor: CommitCursor?
    /// The commits that are being read, up to that of their snapshot.
    private var reading: Reading?
    /// The time of the last event in nanoseconds.
    private var writtenAt: UInt64

    private struct Reading {
        let snapshot: DocumentSnapshot
        var commits: CommitReader
    }

    /// Begins the events of the commits after `since`.
    package init(
        _ body: StreamBody, since: CommitID, hasChanges: Bool, silenceNanoseconds: UInt64,
        at nanoseconds: UInt64
    ) {
        self.body = body
        self.silenceNanoseconds = silenceNanoseconds
        self.hasChanges = hasChanges
        last = since
        writtenAt = nanoseconds
        // A client that reconnects before the first commit continues from here.
        body.write(Array("id: \(since)\n\n".utf8))
    }

    /// Writes the events of the commits of a snapshot, as far as there is room.
    package mutating func advance(
        to snapshot: DocumentSnapshot, at nanoseconds: UInt64
    ) throws(EngineError) {
        while body.hasRoom {
            if reading == nil, !begin(snapshot) { break }
            guard let commit = try next(), let current = reading else {
                cursor = reading?.snapshot.log.cursor
                reading = nil
                continue
            }
            let data = try CommitEvent.data(
                of: commit, in: current.snapshot, hasChanges: hasChanges)
            write("id: \(commit.id)\nevent: commit\ndata: ", data)
            last = commit.id
            writtenAt = nanoseconds
        }
        keepOpen(at: nanoseconds)
    }

    /// Writes a comment if there was no commit for long.
    package mutating func keepOpen(at nanoseconds: UInt64) {
        guard nanoseconds - writtenAt >= silenceNanoseconds, body.hasRoom else { return }
        body.write(Array(":\n\n".utf8))
        writtenAt = nanoseconds
    }

    /// Writes why the next commit cannot be read, and ends the stream.
    func fail(_ error: StoreError) {
        write("event: failure\ndata: ", ErrorAnswer(error).data)
        body.end()
    }

    /// Returns the next commit of the snapshot that is being read.
    private mutating func next() throws(EngineError) -> LoggedCommit? {
        do throws(StorageError) { return try reading?.commits.next() } catch {
            throw .storage(error)
        }
    }

    /// Begins to read the commits of a snapshot after the last one; returns false without any.
    private mutating func begin(_ snapshot: DocumentSnapshot) -> Bool {
        let log = snapshot.log
        guard last < log.commit else { return false }
        let oldest = log.compactedThrough
        if last < oldest {
            write(
                "id: \(oldest)\nevent: gap\ndata: ",
                [
                    "since": .integer(Int64(clamping: last)),
                    "oldest": .integer(Int64(clamping: oldest)),
                ])
            last = oldest
            guard last < log.commit else { return false }
        }
        let isNext = cursor?.commit == last
        let commits = isNext ? cursor.map(log.commits(after:)) : nil
        reading = Reading(
            snapshot: snapshot, commits: commits ?? log.commits(since: last))
        return true
    }

    private func write(_ start: String, _ data: Object) {
        body.write(Array(start.utf8) + JSONBytes.of(data) + Array("\n\n".utf8))
    }
}
