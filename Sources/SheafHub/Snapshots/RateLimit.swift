package import SheafSystem

/// A limit on the bytes per second of a thread.
package final class RateLimit: Sendable {
    private let times: Monitor<TransferTimes>
    private let stop: EvaluationStop

    /// Creates a pace, whose waits end soon after `stop` is set.
    package init(bytesPerSecond: Int, until stop: EvaluationStop) {
        times = Monitor(TransferTimes(bytesPerSecond: bytesPerSecond))
        self.stop = stop
    }

    /// Blocks until these bytes are within the limit.
    package func wait(_ bytes: Int) {
        let now = Clock.system.monotonicNanoseconds()
        let due = times.withLock { $0.end(of: bytes, from: now) }
        while !stop.isSet {
            let now = Clock.system.monotonicNanoseconds()
            guard now < due else { return }
            // Setting the stop signals no monitor.
            times.wait(until: min(due, now + Self.checkNanoseconds), while: { _ in true })
        }
    }

    private static let checkNanoseconds: UInt64 = 100_000_000
}

/// The ends, in nanoseconds, of transfers at a limited rate.
package struct TransferTimes: Sendable {
    private let bytesPerSecond: UInt64
    private var next: UInt64 = 0

    package init(bytesPerSecond: Int) {
        self.bytesPerSecond = UInt64(max(bytesPerSecond, 1))
    }

    /// Adds bytes that are transferred after all others; returns the time at which they end.
    package mutating func end(of bytes: Int, from now: UInt64) -> UInt64 {
        next = max(next, now) + UInt64(bytes) * 1_000_000_000 / bytesPerSecond
        return next
    }
}
