#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The time in which a thread that has run out of work looks for more before it sleeps.
///
/// Waking a sleeping thread takes tens of microseconds, which a polling thread saves; it uses its
/// core meanwhile, but lets other threads run on it between two looks.
package struct BusyPoll: Sendable {
    /// No polling: the thread sleeps at once.
    package static let off = BusyPoll(microseconds: 0)

    /// The longest time.
    package static let maximumMicroseconds = 1_000

    private let nanoseconds: UInt64

    /// Creates a time of at most `maximumMicroseconds`.
    package init(microseconds: Int) {
        nanoseconds = UInt64(min(max(microseconds, 0), Self.maximumMicroseconds)) * 1_000
    }

    /// Calls `hasWork` until it returns true, or until the time or the deadline has passed.
    package func poll(until deadline: UInt64?, _ hasWork: () -> Bool) {
        guard nanoseconds > 0 else { return }
        let end = min(
            Clock.system.monotonicNanoseconds() + nanoseconds, deadline ?? .max)
        while !hasWork(), Clock.system.monotonicNanoseconds() < end { sched_yield() }
    }
}
