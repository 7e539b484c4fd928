/// The detector of calling threads that make no progress.
///
/// Commits published meanwhile wake the waiting thread, and must not postpone the detection.
package struct StallDetector {
    /// The time without progress after which threads count as stuck.
    package static let timeoutNanoseconds: UInt64 = 5_000_000

    private var progress: UInt64?
    private var since: UInt64 = 0

    package init() {}

    /// Returns when the threads are stuck unless they make progress; nil if `progress` is nil.
    package mutating func deadline(_ progress: UInt64?, at now: UInt64) -> UInt64? {
        if progress != self.progress {
            self.progress = progress
            since = now
        }
        return progress.map { _ in since + Self.timeoutNanoseconds }
    }

    /// Whether the threads are stuck; if so, the period starts again.
    package mutating func hasStalled(at now: UInt64) -> Bool {
        guard progress != nil, now >= since + Self.timeoutNanoseconds else { return false }
        since = now
        return true
    }
}
