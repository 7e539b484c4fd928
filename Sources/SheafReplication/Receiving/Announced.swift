import SheafDocument
package import SheafStorage
package import SheafSync

/// Received announcements whose documents are not all stored locally.
package struct Announced {
    package private(set) var messages: [Announce] = []
    /// Local commits of batches written after an announcement was received, by remote commit.
    private var written: [UInt64: CommitID] = [:]
    /// The time at which announced documents are requested if they have not arrived.
    package private(set) var deadline: UInt64?
    /// Approximate size in bytes of the announcements added since the list was last empty.
    private var length = 0
    /// Whether the peer announces its commits instead of sending them.
    var isAnnouncing = false

    /// Time that other peers have to deliver announced documents, in nanoseconds.
    private static let timeout: UInt64 = 300_000_000
    /// Maximum number of bytes of announcements kept; beyond it their documents are requested.
    private static let maximumBytes = 8 << 20

    package init() {}

    /// Adds an announcement; returns false at the maximum, so that their documents are requested.
    package mutating func add(_ message: Announce, at now: UInt64) -> Bool {
        messages.append(message)
        if deadline == nil { restartTimer(at: now) }
        length += message.entries.reduce(64) { $0 + $1.length }
        return length < Self.maximumBytes
    }

    /// Restarts the timeout of the announced documents.
    package mutating func restartTimer(at now: UInt64) {
        deadline = now + Self.timeout
    }

    /// Adds a written batch, which is acknowledged after earlier announcements.
    ///
    /// It precedes announcements of later commits, which may have been received while it was
    /// written: these must not be acknowledged before it is durable.
    package mutating func addWritten(
        _ commit: UInt64, localCommit: CommitID, generation: UInt64
    ) {
        let index = messages.firstIndex { $0.commit > commit } ?? messages.count
        messages.insert(Announce(generation: generation, commit: commit, []), at: index)
        written[commit] = localCommit
    }

    /// Returns the leading announcements that `isCovered` accepts, and durable batches among them.
    package func arrived(
        through durable: CommitID, where isCovered: (Announce) -> Bool
    ) -> ArraySlice<Announce> {
        messages.prefix { written[$0.commit] ?? 0 <= durable && isCovered($0) }
    }

    /// Removes the first `count` announcements, up to `commit`; restarts the timeout of the others.
    package mutating func removeFirst(_ count: Int, through commit: UInt64, at now: UInt64) {
        written = written.filter { $0.key > commit }
        messages.removeFirst(count)
        if messages.isEmpty { (length, deadline) = (0, nil) } else { restartTimer(at: now) }
    }
}
