/// Notices when the threads that call observers have not moved for a while.
///
/// Commits that come meanwhile wake who asks, and must not put that off.
package struct Standstill {
    /// Threads that have not moved for so long are stuck.
    package static let nanoseconds: UInt64 = 5_000_000

    private var progress: UInt64?
    private var since: UInt64 = 0

    package init() {}

    /// When the threads are stuck, if they do not move until then; none where there is nothing to do.
    package mutating func deadline(_ progress: UInt64?, at now: UInt64) -> UInt64? {
        if progress != self.progress {
            self.progress = progress
            since = now
        }
        return progress.map { _ in since + Self.nanoseconds }
    }

    /// Whether they are stuck now; true once, and again after as long.
    package mutating func isReached(at now: UInt64) -> Bool {
        guard progress != nil, now >= since + Self.nanoseconds else { return false }
        since = now
        return true
    }
}
