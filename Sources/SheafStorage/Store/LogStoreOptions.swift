/// When a commit counts as done.
package enum Durability: Equatable, Sendable {
    /// When it survives a power cut.
    case full
    /// When it has its place in the log; within this time it survives a power cut as well.
    ///
    /// Readers see a commit only once it is durable, so they lag by as much.
    case relaxed(milliseconds: Int)
}

/// How much of the past a store keeps; what lies further back may be folded by compaction.
///
/// A commit is kept as it was written while it is within all of the bounds.
package struct HistoryHorizon: Equatable, Sendable {
    /// The newest commits.
    package var commits: UInt64
    /// The newest bytes of the log.
    package var bytes: Int
    /// The newest milliseconds; none means that age does not matter.
    package var milliseconds: UInt64?

    package init(commits: UInt64 = 10_000, bytes: Int = 2 << 20, milliseconds: UInt64? = nil) {
        self.commits = commits
        self.bytes = bytes
        self.milliseconds = milliseconds
    }
}

/// How a store is opened.
package struct LogStoreOptions: Sendable {
    package var durability = Durability.full
    package var history = HistoryHorizon()
    /// The length at which a segment is full; none lets it grow with the store.
    package var segmentLength: Int?
    /// The length at which a commit is cut into records.
    package var recordLength = Record.targetLength
    /// The length of log behind a checkpoint that makes a new one due; none lets it grow with
    /// the store.
    package var checkpointLength: Int?
    /// The share of live bytes that compaction aims at in the directory; half of it is promised.
    package var liveShare = 0.55
    /// The garbage that is not worth removing, whatever its share: it would cost more than it gives.
    package var freeGarbage = 2 << 20
    /// The live bytes that one folded file may take; none lets it grow with the store.
    package var foldedLength: Int?
    /// What compaction may read and write in a second while it is not behind.
    package var compactionBytesPerSecond = 64 << 20
    /// Whether segments are prepared, checkpoints written and segments compacted without asking.
    package var isHousekeepingAutomatic = true
    /// How long the documents may be that one transaction has changed, all together: they are in memory
    /// until they are durable.
    package var transactionLength = 1 << 30
    package var clock = Clock.system
    /// What tells the directory from others; none asks the volume.
    package var identity: UInt64?
    /// Where store identifiers and names of temporary files come from.
    package var random: @Sendable () -> UInt64 = { OperatingSystem.randomInteger() }

    package init() {}

    static let smallestSegmentLength = 1 << 20
    static let largestSegmentLength = 16 << 20

    /// How long the next segment may become in a store with so many live bytes.
    ///
    /// The segment in use and the one prepared behind it are overhead: a sixteenth of the store
    /// each is little enough.
    func segmentLength(liveBytes: Int) -> Int {
        if let segmentLength { return segmentLength }
        return min(max(liveBytes / 16, Self.smallestSegmentLength), Self.largestSegmentLength)
    }
}
