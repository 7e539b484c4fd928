import SheafDocument
package import SheafStorage
package import SheafSync

/// Received announcements whose documents are not all stored locally.
package struct Announced {
    package private(set) var messages: [Announce] = []
    /// Local commits that must be durable, by remote commits of batches and announcements.
    private var written: [UInt64: CommitID] = [:]
    /// Commits of announcements received after batches that were not written then.
    private var following: Set<UInt64> = []
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
    ///
    /// With `followsBatch`, batches received before it are not written yet.
    package mutating func add(
        _ message: Announce, followsBatch: Bool = false, at now: UInt64
    ) -> Bool {
        messages.append(message)
        if followsBatch { following.insert(message.commit) }
        if deadline == nil { restartTimer(at: now) }
        length += message.entries.reduce(64) { $0 + $1.length }
        return length < Self.maximumBytes
    }

    /// Restarts the timeout of the announced documents.
    package mutating func restartTimer(at now: UInt64) {
        deadline = now + Self.timeout
    }

    /// Adds a written batch; it is acknowledged after the announcements of earlier commits.
    ///
    /// Announcements that arrived while it waited are not acknowledged before it is durable.
    package mutating func addWritten(
        _ commit: UInt64, localCommit: CommitID, generation: UInt64
    ) {
        for number in following { written[number] = localCommit }
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
        following = following.filter { $0 > commit }
        messages.removeFirst(count)
        if messages.isEmpty { (length, deadline) = (0, nil) } else { restartTimer(at: now) }
    }
}
