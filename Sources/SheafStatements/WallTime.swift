import SheafStorage
import SheafSystem

/// The wall-clock time derived from the monotonic clock, to avoid reading the wall clock each time.
struct WallTime: Sendable {
    private var milliseconds: UInt64 = 0
    private var nanoseconds: UInt64?

    /// The age at which the wall clock is read again, since it may have been set meanwhile.
    private static let validNanoseconds: UInt64 = 100_000_000

    /// Returns the wall-clock time at a recent monotonic time.
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
