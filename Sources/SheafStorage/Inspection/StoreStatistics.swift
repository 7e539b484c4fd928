/// What a store consists of, in numbers.
package struct StoreStatistics: Sendable {
    /// A checkpoint in the directory.
    package struct CheckpointFile: Sendable {
        package let name: String
        package let commit: CommitID
        package let byteCount: Int
    }

    package var store: StoreID?
    package var segmentCount = 0
    package var segmentBytes = 0
    package var baseCount = 0
    package var baseBytes = 0
    /// The newest first.
    package var checkpoints: [CheckpointFile] = []
    /// Files that the next opening removes, and files that are none of the store's; of these the
    /// bytes are not counted.
    package var otherCount = 0
    package var otherBytes = 0

    package var keyCount = 0
    /// Keys whose removal the log still knows.
    package var removedKeyCount = 0
    /// Entries of indexes that the newest checkpoint has.
    package var linkCount = 0
    /// The bytes of operations that a key still stands on.
    package var liveBytes = 0

    package var lastCommit: CommitID = 0
    /// Milliseconds since 1970, as are all times here.
    package var lastCommitAt: UInt64?
    /// The first commit that is in the log as it was written; those before are folded.
    package var firstWholeCommit: CommitID?
    package var firstWholeCommitAt: UInt64?
    /// Up to this commit compaction may have dropped what was not the newest then; the state as of
    /// every later commit can still be read.
    package var foldedThrough: CommitID = 0

    package var usedCheckpoint: String?
    package var unusableCheckpoints: [String] = []
    /// The bytes of records that an opening reads.
    package var replayedBytes = 0
    package var tornTail: StorageError.Damage?

    /// What compaction could fold now: the files and bytes before the horizon.
    package var foldableFileCount = 0
    package var foldableBytes = 0
    /// The bytes of those files that nothing needs any more.
    package var foldableGarbage = 0

    /// The bytes of the log's files.
    package var logBytes: Int { segmentBytes + baseBytes }
    /// The bytes of the checkpoints.
    package var checkpointBytes: Int { checkpoints.reduce(0) { $0 + $1.byteCount } }
    /// The bytes of all files.
    package var directoryBytes: Int { logBytes + checkpointBytes + otherBytes }
    /// How much of the log is still needed.
    package var liveShare: Double { logBytes == 0 ? 1 : Double(liveBytes) / Double(logBytes) }
}

extension LogReader {
    /// Counts everything; `options` say what compaction would do.
    package func statistics(
        options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) -> StoreStatistics {
        var statistics = StoreStatistics()
        statistics.store = store
        try count(files: &statistics)
        let (snapshot, report) = try Recovery.read(volume: volume)
        let live = LiveBytes(of: snapshot.tree, in: snapshot.segments)
        statistics.keyCount = snapshot.count
        statistics.removedKeyCount = snapshot.tree.count(in: Keyspace.removed)
        statistics.linkCount = snapshot.tree.count(in: Keyspace.links)
        statistics.liveBytes = live.total
        statistics.lastCommit = snapshot.commit
        statistics.lastCommitAt = snapshot.commit > 0 ? snapshot.commitAt : nil
        var whole = commits(since: lastFoldedCommit)
        if let first = try whole.next() {
            statistics.firstWholeCommit = first.id
            statistics.firstWholeCommitAt = first.time
        }
        statistics.foldedThrough = contents.files.map(\.header.foldedThrough).max() ?? 0
        statistics.usedCheckpoint = report.usedCheckpoint
        statistics.unusableCheckpoints = report.unusableCheckpoints
        statistics.replayedBytes = report.replayedLength
        statistics.tornTail = report.torn
        if let planner = CompactionPlanner(snapshot, live: live, options: options) {
            for candidate in planner.candidates {
                statistics.foldableFileCount += 1
                statistics.foldableBytes += candidate.length
                statistics.foldableGarbage += candidate.garbage
            }
        }
        return statistics
    }

    /// What a compaction of everything before the horizon would fold; nothing is written.
    package func compactionPlans(
        options: LogStoreOptions
    ) throws(StorageError) -> [CompactionPlan] {
        let (snapshot, _) = try Recovery.read(volume: volume)
        return CompactionPlanner(
            snapshot, live: LiveBytes(of: snapshot.tree, in: snapshot.segments), options: options
        )?.everything() ?? []
    }

    /// The length of a file; those that are no part of the store's format are not opened.
    private func size(of name: String) throws(StorageError) -> Int {
        if [.foreign, .lock, .attachments].contains(FileName(name)) { return 0 }
        return try translatingErrors { () throws(VolumeError) in
            let file = try volume.open(name, .read)
            defer { file.close() }
            return try file.size()
        }
    }

    private func count(files statistics: inout StoreStatistics) throws(StorageError) {
        let log = Set(contents.files.map(\.name))
        for name in try translatingErrors({ () throws(VolumeError) in try volume.names() }) {
            let size = try size(of: name)
            switch FileName(name) {
            case .segment where log.contains(name):
                statistics.segmentCount += 1
                statistics.segmentBytes += size
            case .base where log.contains(name):
                statistics.baseCount += 1
                statistics.baseBytes += size
            case .checkpoint(let commit):
                statistics.checkpoints.append(
                    StoreStatistics.CheckpointFile(name: name, commit: commit, byteCount: size))
            case .lock, .closedMark, .siteMark, .attachments:
                break
            case .segment, .base, .temporary, .foreign:
                statistics.otherCount += 1
                statistics.otherBytes += size
            }
        }
        statistics.checkpoints.sort { $0.commit > $1.commit }
    }
}
