package import SheafSystem

extension Clock {
    /// Returns the time until which a test waits for another thread: five minutes ahead.
    ///
    /// Tests that run at the same time may occupy all processors, and the threads of tasks, for
    /// more than a minute.
    package static func testDeadline() -> UInt64 {
        system.monotonicNanoseconds() + 300_000_000_000
    }
}
