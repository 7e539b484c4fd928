package import SheafSystem

/// A limit on the bytes per second of a thread.
package final class RateLimit: Sendable {
    private let bytesPerSecond: Int
    private let next: Monitor<UInt64>
    private let stop: EvaluationStop

    /// Creates a pace, whose waits end soon after `stop` is set.
    package init(bytesPerSecond: Int, until stop: EvaluationStop) {
        self.bytesPerSecond = max(bytesPerSecond, 1)
        self.stop = stop
        next = Monitor(0)
    }

    /// Blocks until these bytes are within the limit.
    package func wait(_ bytes: Int) {
        let now = Clock.system.monotonicNanoseconds()
        let duration = UInt64(bytes) * 1_000_000_000 / UInt64(bytesPerSecond)
        let due = next.withLock { next in
            next = max(next, now) + duration
            return next
        }
        while !stop.isSet {
            let now = Clock.system.monotonicNanoseconds()
            guard now < due else { return }
            // Setting the stop signals no monitor.
            next.wait(until: min(due, now + Self.checkNanoseconds), while: { _ in true })
        }
    }

    private static let checkNanoseconds: UInt64 = 100_000_000
}
