import SheafDocument
package import SheafEngine
package import SheafStorage

/// The recent changes of durable commits, and the newest durable snapshot.
package struct RecentCommits {
    package struct Commit {
        package let number: CommitID
        package let changes: [CommitFeed.Change]
    }

    private(set) var snapshot: DocumentSnapshot
    /// The commits after `start` that changed documents, in order.
    package private(set) var commits: [Commit] = []
    /// The commit after which `commits` is complete.
    package private(set) var start: CommitID
    /// The commits added by the last update.
    package var fresh: ArraySlice<Commit> { commits[freshStart...] }
    private var freshStart = 0
    /// The snapshot before the last update if the change feed omitted commits, otherwise nil.
    private(set) var stateBefore: DocumentSnapshot?
    /// Sampled commits and the ends of the log after them.
    private var ends: [(commit: CommitID, end: LogPosition)] = []
    /// The last commit that collected tombstones.
    package private(set) var collectedThrough: CommitID = 0

    /// Maximum number of commits retained; a peer that lags further gets one catch-up batch.
    private static let maximumCount = 1_024
    private static let maximumChanges = 1 << 16
    private static let maximumEnds = 1 << 12

    package init(_ engine: DocumentEngine) {
        // Without them, peers compare documents one by one; a store that cannot write fails later.
        try? engine.trackVersions()
        start = engine.setPeerFeedRecording(true)
        snapshot = engine.snapshot()
        ends = [(snapshot.log.commit, snapshot.log.end)]
    }

    /// Adds the commits that have become durable, and advances the snapshot.
    package mutating func update(_ engine: DocumentEngine) {
        let before = snapshot
        snapshot = engine.snapshot()
        let commit = snapshot.log.commit
        freshStart = commits.count
        var group: [CommitFeed.Change] = []
        let (changes, omitted) = engine.drainPeerFeed(through: commit)
        if let omitted {
            start = max(start, omitted)
            stateBefore = before
        }
        for change in changes {
            if let last = group.last, last.commit != change.commit {
                commits.append(Commit(number: last.commit, changes: group))
                group = []
            }
            group.append(change)
        }
        if let last = group.last { commits.append(Commit(number: last.commit, changes: group)) }
        if ends.last?.commit != commit { ends.append((commit, snapshot.log.end)) }
        if ends.count > Self.maximumEnds {
            ends = ends.enumerated().filter { $0.offset % 2 == 0 || $0.offset + 64 > ends.count }
                .map(\.element)
        }
    }

    /// Returns the commits after `commit`; nil if some of them are not retained.
    package func commits(after commit: CommitID) -> ArraySlice<Commit>? {
        guard commit >= start else { return nil }
        var (low, high) = (0, commits.count)
        while low < high {
            let middle = (low + high) / 2
            if commits[middle].number > commit { high = middle } else { low = middle + 1 }
        }
        return commits[low...]
    }

    /// Returns a log position at or before all operations of the commits after `commit`.
    package func end(of commit: CommitID) -> LogPosition {
        ends.last { $0.commit <= commit }?.end ?? .none
    }

    /// Records that a commit collected tombstones.
    package mutating func recordCollection(at commit: CommitID) {
        collectedThrough = max(collectedThrough, commit)
    }

    /// Removes the commits up to `commit`, or all if nil, and the oldest ones beyond the maximum.
    package mutating func discard(before commit: CommitID?) {
        var count = commits.prefix { $0.number <= commit ?? snapshot.log.commit }.count
        var changes = commits.dropFirst(count).reduce(0) { $0 + $1.changes.count }
        while commits.count - count > Self.maximumCount || changes > Self.maximumChanges {
            changes -= commits[count].changes.count
            count += 1
        }
        if count > 0 { start = max(start, commits[count - 1].number) }
        commits.removeFirst(count)
        freshStart = commits.count
        stateBefore = nil
    }
}
