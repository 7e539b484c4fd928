/// The delay before a retry: exponential backoff with jitter.
package struct Backoff {
    private let first: Int
    private let longest: Int
    private var next: Int

    package init(_ limits: NetworkLimits) {
        first = max(limits.firstRetryMilliseconds, 1)
        longest = max(limits.longestRetryMilliseconds, first)
        next = first
    }

    /// Returns the next delay, a random value between half of the current maximum and all of it.
    ///
    /// The jitter keeps peers from retrying at the same time.
    package mutating func milliseconds(drawing random: UInt64) -> Int {
        let maximum = next
        next = min(next * 2, longest)
        let half = maximum / 2
        return half + Int(truncatingIfNeeded: random % UInt64(maximum - half + 1))
    }

    /// Resets the delay after a success.
    package mutating func reset() {
        next = first
    }
}
