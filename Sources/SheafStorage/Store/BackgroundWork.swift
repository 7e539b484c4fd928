import SheafSystem

/// The computations of a background thread, which regularly offers its core to other threads.
///
/// When the disk has finished a flush, the system may wake the committing thread on the core of
/// the background thread, and leave it waiting there although another core is idle. Between two
/// calls that block, compaction computes for longer than a flush takes.
package struct BackgroundWork {
    /// The length of processed bytes after which the core is offered; takes less than 50 us.
    package static let interval = 16 << 10

    private let yield: () -> Void
    private var length = 0

    /// Creates a count of processed bytes; `yield` offers the core to other threads.
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
