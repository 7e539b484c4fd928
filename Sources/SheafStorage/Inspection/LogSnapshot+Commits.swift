extension LogSnapshot {
    /// Calls `body` with the commits of a range that the log still has, until it returns false.
    ///
    /// Compacted commits may lack operations. In reverse order, the commits of one file are held
    /// in memory.
    package func forEachCommit<Failure: Error>(
        in range: ClosedRange<CommitID>, isReversed: Bool,
        reading error: (StorageError) -> Failure,
        _ body: (LoggedCommit) throws(Failure) -> Bool
    ) throws(Failure) {
        let range = range.clamped(to: 1...max(commit, 1))
        guard commit > 0 else { return }
        guard isReversed else {
            _ = try visit(range, error, body)
            return
        }
        for (index, file) in segments.files.enumerated().reversed() {
            let before = index > 0 ? segments.files[index - 1].footer?.lastCommit ?? 0 : 0
            let last = file.footer?.lastCommit ?? commit
            guard before < last, before < range.upperBound, last >= range.lowerBound else {
                continue
            }
            var commits: [LoggedCommit] = []
            let part = (before + 1)...last
            guard part.overlaps(range) else { continue }
            _ = try visit(part.clamped(to: range), error) { (commit) throws(Failure) in
                commits.append(commit)
                return true
            }
            for commit in commits.reversed() {
                guard try body(commit) else { return }
            }
        }
    }

    private func visit<Failure: Error>(
        _ range: ClosedRange<CommitID>, _ failure: (StorageError) -> Failure,
        _ body: (LoggedCommit) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        var commits = commits(since: range.lowerBound - 1)
        while true {
            let next: LoggedCommit?
            do throws(StorageError) { next = try commits.next() } catch { throw failure(error) }
            guard let commit = next, commit.id <= range.upperBound else { return true }
            guard try body(commit) else { return false }
            guard commit.id < range.upperBound else { return true }
        }
    }
}
