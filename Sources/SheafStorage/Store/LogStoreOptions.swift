package import SheafSystem

/// The point at which a commit call returns.
package enum Durability: Equatable, Sendable {
    /// A commit call returns when the commit survives a power failure.
    case full
    /// A commit call returns when the commit is appended; it becomes durable within this time.
    ///
    /// Readers see only durable commits, so they lag by up to the same time.
    case relaxed(milliseconds: Int)
}

/// The part of the history that compaction must preserve.
///
/// A commit is preserved as written while it is within all of the bounds.
package struct HistoryHorizon: Equatable, Sendable {
    /// The number of newest commits.
    package var commits: UInt64
    /// The number of newest bytes of the log.
    package var bytes: Int
    /// The maximum age in milliseconds; nil for no limit.
    package var milliseconds: UInt64?

    package init(commits: UInt64 = 10_000, bytes: Int = 2 << 20, milliseconds: UInt64? = nil) {
        self.commits = commits
        self.bytes = bytes
        self.milliseconds = milliseconds
    }
}

/// The options for opening a store.
package struct LogStoreOptions: Sendable {
    package var durability = Durability.full
    package var history = HistoryHorizon()
    /// The length at which a segment is full; nil scales it with the store.
    package var segmentLength: Int?
    /// The length of the flushes of a bulk load; zero for other writers.
    ///
    /// Segments that begin within a long flush then have at least twice this length, because each
    /// file costs a flush of the directory. Pending records keep as much memory for the next flush.
    package var bulkFlushLength = 0
    /// The length at which a commit is split into records.
    package var recordLength = Record.targetLength
    /// The length of log after which a new checkpoint is due; nil scales it with the store.
    package var checkpointLength: Int?
    /// The share of live bytes in the directory that compaction aims at.
    package var liveShare = 0.55
    /// The amount of garbage that is always tolerated, because removing it would cost too much.
    package var freeGarbage = 2 << 20
    /// The maximum number of live bytes in a base file; nil scales it with the store.
    package var compactedLength: Int?
    /// The maximum rate at which compaction reads and writes; it rises as garbage nears its limit.
    package var compactionBytesPerSecond = 64 << 20
    /// Whether the maintenance thread runs.
    package var runsMaintenance = true
    /// The time without work after which the maintenance thread releases memory that large commits
    /// have left.
    package var idleMilliseconds: UInt64 = 1_000
    /// The maximum total length of the documents that one transaction changes.
    ///
    /// Documents that are joined or changed again stay in memory until they are durable.
    package var transactionLength = 1 << 30
    /// The length of encoded changes from which a transaction writes them to files; at least 1.
    package var stagingThreshold = 32 << 20
    package var clock = Clock.system
    /// A value that identifies the directory; nil uses the identity from the volume.
    package var identity: UInt64?
    /// The source of store identifiers and names of temporary files.
    package var random: @Sendable () -> UInt64 = { OperatingSystem.randomInteger() }

    /// The number of tree entries from which the operations of a large batch are sorted by key.
    package var minimumEntriesForSorting = 400_000

    package init() {}

    /// The minimum length of a segment that begins within a long flush.
    package var bulkSegmentLength: Int { min(bulkFlushLength, Limits.maximumFileLength / 4) * 2 }

    /// The maximum length of a segment with staged records, unless a record is longer.
    package var stagedSegmentLength: Int { segmentLength ?? 4 * Self.largestSegmentLength }

    static let smallestSegmentLength = 1 << 20
    static let largestSegmentLength = 16 << 20

    /// Returns the maximum length of the next segment for a number of live bytes.
    ///
    /// The segment in use and the prepared one are overhead; one sixteenth of the store each is
    /// acceptable.
    package func segmentLength(liveBytes: Int) -> Int {
        if let segmentLength { return segmentLength }
        return min(max(liveBytes / 16, Self.smallestSegmentLength), Self.largestSegmentLength)
    }
}
