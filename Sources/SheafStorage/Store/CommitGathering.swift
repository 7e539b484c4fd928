/// The decision for how long a flush waits for the writers of the last one to commit again.
///
/// Without a wait, the first of them would be flushed alone, and the others would wait for two
/// flushes. A wait for writers that do not return in time delays all others, so it is repeated
/// less and less often.
package struct CommitGathering: Sendable {
    /// The maximum wait of a flush, in nanoseconds.
    package static let longestWait: UInt64 = 300_000
    /// The number of failed waits after which a flush waits only occasionally.
    package static let toleratedMisses = 4
    /// The number of flushes between two waits after the tolerated misses; each miss doubles it.
    private static let shortestInterval = 16
    private static let maximumDoublings = 4

    /// The number of consecutive failed waits.
    private var misses = 0
    /// The number of flushes without a wait since the last one.
    private var skipped = 0

    package init() {}

    /// Returns the maximum wait in nanoseconds for `writers`; zero if the flush must not wait.
    ///
    /// A flush waits for at most the time of a typical one: those that are pending would otherwise
    /// be durable sooner without the others.
    package mutating func wait(for writers: Int, typicalFlush: UInt64) -> UInt64 {
        guard writers > 1 else { return 0 }
        let excess = misses - Self.toleratedMisses
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
        misses = isComplete ? 0 : misses + 1
    }
}
