import SheafSystem

extension CompactionPlanner {
    private static let smallestCompactedLength = 1 << 20

    /// Creates a planner over the files of a snapshot; nil if none is older than the horizon.
    ///
    /// `compactedAt` maps the first segment of a base file to the grown length of the log when it
    /// was written.
    init?(
        _ snapshot: LogSnapshot, live: LiveBytes, options: borrowing LogStoreOptions,
        compactedAt: [UInt32: Int] = [:]
    ) {
        let files = snapshot.segments.files
        let compactable = Self.compactableCount(files, snapshot, options)
        guard compactable > 0 else { return nil }
        let candidates = files[..<compactable].map { file in
            let segments = file.header.segments
            let live = live.length(ofFileAt: segments.lowerBound)
            let length = (file.footer?.contentLength ?? 0) + SegmentFooter.length
            let age = compactedAt[segments.lowerBound].map { snapshot.grownLength - $0 }
            return Candidate(
                segment: file, length: length, liveLength: min(max(live, 0), length),
                continuesCommit: file.continuesCommit,
                isSettled: age.map { $0 < max(length / 4, options.history.bytes) } ?? false)
        }
        let last = files[compactable - 1]
        self.init(
            candidates: candidates,
            horizon: LogPosition(
                segment: last.header.segments.upperBound, offset: Int(UInt32.max)),
            horizonCommit: last.footer?.lastCommit ?? 0,
            outputLimit: options.compactedLength
                ?? max(options.segmentLength(liveBytes: live.total), Self.smallestCompactedLength))
    }

    /// Returns the number of files, from the first on, that are sealed and older than the horizon.
    private static func compactableCount(
        _ files: [Segment], _ snapshot: LogSnapshot, _ options: borrowing LogStoreOptions
    ) -> Int {
        let now = options.clock.wallMilliseconds()
        let history = options.history
        var newerBytes = 0
        var index = files.count
        while index > 0 {
            let file = files[index - 1]
            guard let footer = file.footer else {
                newerBytes += file.content.count
                index -= 1
                continue
            }
            let isOld =
                file.header.kind == .base
                || snapshot.commit - min(footer.lastCommit, snapshot.commit) >= history.commits
                || newerBytes >= history.bytes
                || history.milliseconds.map { age in
                    now >= footer.lastCommitAt && now - footer.lastCommitAt >= age
                } ?? false
            // A file whose last commit continues in the next file cannot be compacted without it.
            let isComplete = index == files.count || !files[index].continuesCommit
            if isOld && isComplete { return index }
            newerBytes += footer.contentLength
            index -= 1
        }
        return 0
    }
}
