import SheafStorage

/// Tells when something began by the clock on the wall, without asking that one each time.
struct WallTime: Sendable {
    private var milliseconds: UInt64 = 0
    private var nanoseconds: UInt64?

    /// Somebody may set the clock, and the machine may have slept: so it is asked once in a while.
    private static let validNanoseconds: UInt64 = 100_000_000

    /// When it was so late on the other clock, which is not long ago.
    @inline(__always)
    mutating func milliseconds(at now: UInt64, _ clock: Clock) -> UInt64 {
        if let nanoseconds, now >= nanoseconds, now - nanoseconds < Self.validNanoseconds {
            return milliseconds &+ (now - nanoseconds) / 1_000_000
        }
        milliseconds = clock.wallMilliseconds()
        nanoseconds = now
        return milliseconds
    }
}
