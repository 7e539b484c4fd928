package import SheafStorage
import Synchronization

/// A clock that stands still until a test moves it.
package final class FakeClock: Sendable {
    private struct Time {
        var wallMilliseconds: UInt64
        var monotonicNanoseconds: UInt64
    }

    private let time: Mutex<Time>

    /// Starts at this moment; by default on a day in 2026.
    package init(
        wallMilliseconds: UInt64 = 1_780_000_000_000, monotonicNanoseconds: UInt64 = 1_000_000_000
    ) {
        time = Mutex(
            Time(
                wallMilliseconds: wallMilliseconds, monotonicNanoseconds: monotonicNanoseconds))
    }

    /// What everybody but the test sees of it.
    package var clock: Clock {
        Clock(
            wallMilliseconds: { self.time.withLock { $0.wallMilliseconds } },
            monotonicNanoseconds: { self.time.withLock { $0.monotonicNanoseconds } })
    }

    /// Lets time pass.
    package func advance(milliseconds: UInt64) {
        time.withLock {
            $0.wallMilliseconds += milliseconds
            $0.monotonicNanoseconds += milliseconds * 1_000_000
        }
    }

    /// Sets the wall clock, also backwards, as people do.
    package func setWall(milliseconds: UInt64) {
        time.withLock { $0.wallMilliseconds = milliseconds }
    }
}
