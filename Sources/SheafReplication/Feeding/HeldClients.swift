package import SheafStorage

/// The documents of clients that are not hub-durable, and whether the clients are held:
/// beyond a limit, none of them gets credit for more.
package struct HeldClients {
    /// Written batches.
    private struct Batches {
        var commit: CommitID
        var length: Int
    }

    /// Number of bytes of waiting documents beyond which clients are held.
    package var limit = Int.max
    /// The waiting batches, in the order of their commits.
    private var batches: [Batches] = []
    /// Number of bytes of their documents.
    package private(set) var waitingLength = 0
    /// The time since which clients are held; nil while they are not.
    package private(set) var since: UInt64?

    package init() {}

    /// Adds the documents of a batch that is written in a commit.
    package mutating func add(_ length: Int, in commit: CommitID) {
        waitingLength += length
        // Short batches are counted together, so that their number is bounded.
        if let last = batches.indices.last, batches[last].length < limit / 1_024 {
            batches[last].commit = max(batches[last].commit, commit)
            batches[last].length += length
        } else {
            batches.append(Batches(commit: commit, length: length))
        }
    }

    /// Removes the documents of commits that are hub-durable, and begins or ends to hold
    /// clients; returns whether it did.
    ///
    /// Clients are held until half of the limit is left, so that they do not continue for moments.
    package mutating func update(hubDurable: CommitID, at now: UInt64) -> Bool {
        let count = batches.prefix { $0.commit <= hubDurable }.count
        waitingLength -= batches[..<count].reduce(0) { $0 + $1.length }
        batches.removeFirst(count)
        let wasHeld = since != nil
        let isHeld = waitingLength > (wasHeld ? limit / 2 : limit)
        since = isHeld ? since ?? now : nil
        return isHeld != wasHeld
    }
}
