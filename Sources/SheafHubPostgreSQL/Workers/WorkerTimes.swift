/// Work of a thread that is due each time an interval has passed.
///
/// Times are those of a monotonic clock, in nanoseconds.
package struct PeriodicWork: Sendable {
    private let interval: UInt64
    /// The time at which the work is due.
    package private(set) var next: UInt64

    private init(everySeconds seconds: UInt64, from now: UInt64) {
        interval = seconds * 1_000_000_000
        next = now + interval
    }

    /// The queries of a follower that is not notified.
    package static func queries(from now: UInt64) -> PeriodicWork {
        PeriodicWork(everySeconds: PostgreSQLLimits.querySeconds, from: now)
    }

    /// The removals of old broadcasts.
    package static func removals(from now: UInt64) -> PeriodicWork {
        PeriodicWork(everySeconds: PostgreSQLLimits.broadcastSeconds, from: now)
    }

    /// Whether the work is due at a time.
    package func isDue(at now: UInt64) -> Bool { now >= next }

    /// Records that the work was done at a time.
    package mutating func finish(at now: UInt64) { next = now + interval }
}

/// The pauses between attempts to connect, each twice as long as the one before, up to a limit.
package struct ConnectionPauses: Sendable {
    private var milliseconds = PostgreSQLLimits.retryMilliseconds.lowerBound

    /// Creates the pauses after the first attempt.
    package init() {}

    /// Begins the next pause, and returns its end in nanoseconds.
    package mutating func begin(at now: UInt64) -> UInt64 {
        defer {
            milliseconds = min(2 * milliseconds, PostgreSQLLimits.retryMilliseconds.upperBound)
        }
        return now + milliseconds * 1_000_000
    }
}
