/// The numbers of commits claim an order: everything must look as if done in that one.
enum CommitOrder {
    /// Does all that was committed once more, one after the other.
    static func check(_ history: [Attempt], _ source: Versions.Source) throws(Anomaly) {
        let committed = history.filter { $0.outcome == .committed }.map { attempt in
            (commit: attempt.commit ?? -1, hasWritten: attempt.hasWritten, attempt: attempt)
        }
        // Who only read comes behind the commit that he saw.
        let inOrder = committed.sorted {
            ($0.commit, $0.hasWritten ? 0 : 1) < ($1.commit, $1.hasWritten ? 0 : 1)
        }
        var state: [Int: [Int]] = [:]
        var last: Int64 = -1
        for (commit, hasWritten, attempt) in inOrder {
            guard commit >= 0 else { throw Anomaly("a commit has no number: \(attempt)") }
            if hasWritten {
                guard commit > last else { throw Anomaly("two commits are \(commit): \(attempt)") }
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
