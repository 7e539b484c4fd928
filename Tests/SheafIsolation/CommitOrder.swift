/// A check that the history is equivalent to its serial execution in commit order.
enum CommitOrder {
    /// Replays all committed attempts in the order of their commit IDs.
    static func check(_ history: [Attempt], _ source: VersionOrder.Source) throws(Anomaly) {
        let committed = history.filter { $0.outcome == .committed }.map { attempt in
            (commit: attempt.commit ?? -1, hasWritten: attempt.hasWritten, attempt: attempt)
        }
        // A read-only transaction follows the commit that it read.
        let inOrder = committed.sorted {
            ($0.commit, $0.hasWritten ? 0 : 1) < ($1.commit, $1.hasWritten ? 0 : 1)
        }
        var state: [Int: [Int]] = [:]
        var last: Int64 = -1
        for (commit, hasWritten, attempt) in inOrder {
            guard commit >= 0 else { throw Anomaly("a commit has no number: \(attempt)") }
            if hasWritten {
                guard commit > last else { throw Anomaly("duplicate commit \(commit): \(attempt)") }
                last = commit
            }
            for operation in attempt.operations {
                switch operation {
                case .write(let key, let value):
                    if source == .registers { state[key] = [] }
                    state[key, default: []].append(value)
                case .read(let key, let values):
                    guard state[key, default: []] == values else {
                        throw Anomaly(
                            "\(key) was \(state[key, default: []].suffix(4)) as of commit "
                                + "\(commit): \(attempt)")
                    }
                }
            }
        }
    }
}
