/// The time that a loop waits for events: until the earliest of several deadlines.
package struct LoopWait {
    /// Maximum time between two checks of the wall clock, which may be set at any time.
    package static let longestMilliseconds: UInt64 = 30_000

    private let now: UInt64
    private let wallNow: UInt64
    /// The time in milliseconds.
    package private(set) var milliseconds: UInt64

    /// Creates a wait that begins now, by both clocks.
    package init(
        atNanoseconds now: UInt64, wallMilliseconds wallNow: UInt64,
        atMost milliseconds: UInt64 = Self.longestMilliseconds
    ) {
        (self.now, self.wallNow, self.milliseconds) = (now, wallNow, milliseconds)
    }

    /// Ends the wait no later than a time of the monotonic clock, rounded up.
    ///
    /// Waking too early would need a second wakeup.
    package mutating func end(atNanoseconds time: UInt64) {
        milliseconds = min(milliseconds, time > now ? (time - now) / 1_000_000 + 1 : 0)
    }

    /// Ends the wait no later than a time of the wall clock.
    package mutating func end(atWallMilliseconds time: UInt64) {
        milliseconds = min(milliseconds, time > wallNow ? time - wallNow : 0)
    }
}
