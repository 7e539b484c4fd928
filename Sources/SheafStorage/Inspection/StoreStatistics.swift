/// Counts and sizes of a store.
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
    /// The checkpoints, the newest first.
    package var checkpoints: [CheckpointFile] = []
    /// The number of files that the next opening removes, and of foreign files.
    ///
    /// `otherBytes` excludes foreign files.
    package var otherCount = 0
    package var otherBytes = 0

    package var keyCount = 0
    /// The number of keys whose removal is still in the log.
    package var removedKeyCount = 0
    /// The number of index entries in `usedCheckpoint`.
    package var indexEntryCount = 0
    /// The length of the operations that make up current and removed keys, in bytes.
    package var liveBytes = 0

    package var lastCommit: CommitID = 0
    /// The time of the last commit in milliseconds since 1970.
    package var lastCommitAt: UInt64?
    /// The first commit that is not compacted.
    package var firstCompleteCommit: CommitID?
    package var firstCompleteCommitAt: UInt64?
    /// The last commit that compaction may have changed; the state as of later commits is readable.
    package var compactedThrough: CommitID = 0

    package var usedCheckpoint: String?
    package var unusableCheckpoints: [String] = []
    /// The length of the records that opening replays, in bytes.
    package var replayedBytes = 0
    package var tornTail: StorageError.Damage?

    /// The number and size of the files before the horizon that could be compacted.
    package var compactableFileCount = 0
    package var compactableBytes = 0
    /// The garbage in these files, in bytes.
    package var compactableGarbage = 0

    /// Creates the statistics of a store without files.
    package init() {}

    /// The total length of the log files in bytes.
    package var logBytes: Int { segmentBytes + baseBytes }
    /// The total length of the checkpoints in bytes.
    package var checkpointBytes: Int { checkpoints.reduce(0) { $0 + $1.byteCount } }
    /// The total length of log files, checkpoints and files to remove, in bytes.
    package var directoryBytes: Int { logBytes + checkpointBytes + otherBytes }
    /// The share of the log that is live.
    package var liveShare: Double { logBytes == 0 ? 1 : Double(liveBytes) / Double(logBytes) }
}

extension LogReader {
    /// Computes the statistics; `options` determine what could be compacted.
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
        statistics.indexEntryCount = snapshot.tree.count(in: Keyspace.indexEntries)
        statistics.liveBytes = live.total
        statistics.lastCommit = snapshot.commit
        statistics.lastCommitAt = snapshot.commit > 0 ? snapshot.commitAt : nil
        var complete = commits(since: lastCompactedCommit)
        if let first = try complete.next() {
            statistics.firstCompleteCommit = first.id
            statistics.firstCompleteCommitAt = first.time
        }
        statistics.compactedThrough = contents.files.map(\.header.compactedThrough).max() ?? 0
        statistics.usedCheckpoint = report.usedCheckpoint
        statistics.unusableCheckpoints = report.unusableCheckpoints
        statistics.replayedBytes = report.replayedLength
        statistics.tornTail = report.torn
        if let planner = CompactionPlanner(snapshot, live: live, options: options) {
            for candidate in planner.candidates {
                statistics.compactableFileCount += 1
                statistics.compactableBytes += candidate.length
                statistics.compactableGarbage += candidate.garbage
            }
        }
        return statistics
    }

    /// Returns the plans of a compaction of all files before the horizon, without executing them.
    package func compactionPlans(
        options: LogStoreOptions
    ) throws(StorageError) -> [CompactionPlan] {
        let (snapshot, _) = try Recovery.read(volume: volume)
        return CompactionPlanner(
            snapshot, live: LiveBytes(of: snapshot.tree, in: snapshot.segments), options: options
        )?.everything() ?? []
    }

    /// Returns the length of a file; zero for files outside the log format, which are not opened.
    private func size(of name: String) throws(StorageError) -> Int {
        if [.foreign, .lock, .synced, .attachments].contains(FileName(name)) { return 0 }
        return try translatingErrors { () throws(VolumeError) in
            let file: any VolumeFile
            do throws(VolumeError) { file = try volume.open(name, .read) } catch {
                // A writer may remove a mark or a temporary file meanwhile.
                guard error.code == .noSuchFile else { throw error }
                return 0
            }
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
            case .lock, .synced, .closedMark, .siteMark, .attachments:
                break
            case .segment, .base, .temporary, .foreign:
                statistics.otherCount += 1
                statistics.otherBytes += size
            }
        }
        statistics.checkpoints.sort { $0.commit > $1.commit }
    }
}
