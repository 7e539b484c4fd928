/// The policy for how long a flush waits for the writers of the last one to commit again.
///
/// Without a wait, the first commit would be flushed alone, and all others would wait for two
/// flushes. A wait that times out delays the pending commits, so such waits become less frequent.
package struct GroupCommitDelay: Sendable {
    /// The maximum wait of a flush, in nanoseconds.
    package static let longestWait: UInt64 = 300_000
    /// The number of failed waits after which a flush waits only occasionally.
    package static let toleratedFailures = 4
    /// The number of flushes between two waits after the tolerated failures, which each failure
    /// doubles.
    private static let shortestInterval = 16
    private static let maximumDoublings = 4

    /// The number of consecutive failed waits.
    private var failedWaits = 0
    /// The number of flushes without a wait since the last one.
    private var skipped = 0

    package init() {}

    /// Returns the maximum wait in nanoseconds for `writers` commits; zero for no wait.
    ///
    /// Waiting longer than a flush would cost the pending commits more than flushing them alone.
    package mutating func wait(for writers: Int, typicalFlush: UInt64) -> UInt64 {
        guard writers > 1 else { return 0 }
        let excess = failedWaits - Self.toleratedFailures
        if excess >= 0 {
            skipped += 1
            guard skipped > Self.shortestInterval << min(excess, Self.maximumDoublings) else {
                return 0
            }
        }
        skipped = 0
        return min(typicalFlush, Self.longestWait)
    }

    /// Records whether all writers returned during a wait.
    package mutating func recordWait(isComplete: Bool) {
        failedWaits = isComplete ? 0 : failedWaits + 1
    }
}
