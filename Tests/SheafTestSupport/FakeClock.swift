import SheafStorage
package import SheafSystem
import Synchronization

/// A clock that advances only when a test advances it.
package final class FakeClock: Sendable {
    private struct Time {
        var wallMilliseconds: UInt64
        var monotonicNanoseconds: UInt64
    }

    private let time: Mutex<Time>

    /// Creates a clock at this time; by default a day in 2026.
    package init(
        wallMilliseconds: UInt64 = 1_780_000_000_000, monotonicNanoseconds: UInt64 = 1_000_000_000
    ) {
        time = Mutex(
            Time(
                wallMilliseconds: wallMilliseconds, monotonicNanoseconds: monotonicNanoseconds))
    }

    /// The clock as the code under test sees it.
    package var clock: Clock {
        Clock(
            wallMilliseconds: { self.time.withLock { $0.wallMilliseconds } },
            monotonicNanoseconds: { self.time.withLock { $0.monotonicNanoseconds } })
    }

    /// Advances the wall clock and the monotonic clock.
    package func advance(milliseconds: UInt64) {
        time.withLock {
            $0.wallMilliseconds += milliseconds
            $0.monotonicNanoseconds += milliseconds * 1_000_000
        }
    }

    /// Sets the wall clock; it may go backwards.
    package func setWall(milliseconds: UInt64) {
        time.withLock { $0.wallMilliseconds = milliseconds }
    }
}
