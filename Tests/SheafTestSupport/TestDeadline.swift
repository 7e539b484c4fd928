package import SheafSystem

extension Clock {
    /// Returns the time until which a test waits for another thread: half an hour ahead.
    ///
    /// Tests that run at the same time may occupy all processors, and the threads of tasks, for
    /// many minutes on a slow machine.
    package static func testDeadline() -> UInt64 {
        system.monotonicNanoseconds() + 1_800_000_000_000
    }
}
