/// The times of attempts for a file that failed or is missing, at ever longer intervals.
package struct RetryTimes {
    private let longest: UInt64
    package private(set) var next: UInt64
    private var delay: UInt64

    package init(from first: UInt64, to longest: UInt64, startingAt next: UInt64) {
        (delay, self.longest, self.next) = (first, longest, next)
    }

    package func isDue(at now: UInt64) -> Bool {
        // A clock that was set back must not postpone anything for longer.
        now >= next || next - now > longest
    }

    package mutating func postpone(at now: UInt64) {
        next = now + delay
        delay = min(delay * 2, longest)
    }
}
