import SheafSystem

/// A counter of processed bytes that yields the processor at regular intervals.
///
/// After a flush, the kernel may wake the committing thread on the core of a background thread and
/// leave it in that core's queue although another core is idle. Compaction would keep the core for
/// longer than a flush, because it computes that long between two blocking calls.
package struct PeriodicYield {
    /// Number of bytes processed between two yields; processing them takes less than 50 µs.
    package static let interval = 16 << 10

    private let yield: () -> Void
    private var length = 0

    /// Creates a counter that calls `yield`, by default that of the current thread.
    package init(yield: @escaping () -> Void = { Thread.yield() }) {
        self.yield = yield
    }

    /// Records the processing of `count` bytes.
    package mutating func record(_ count: Int) {
        length += count
        guard length >= Self.interval else { return }
        length = 0
        yield()
    }
}
