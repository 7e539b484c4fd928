/// How long to wait before something is tried again: twice as long each time, and never quite.
struct Backoff {
    private let first: Int
    private let longest: Int
    private var next: Int

    init(_ limits: NetworkLimits) {
        first = max(limits.firstRetryMilliseconds, 1)
        longest = max(limits.longestRetryMilliseconds, first)
        next = first
    }

    /// The next wait: between half of it and all of it, so that not everybody comes at once.
    mutating func milliseconds(drawing random: UInt64) -> Int {
        let whole = next
        next = min(next * 2, longest)
        let half = whole / 2
        return half + Int(truncatingIfNeeded: random % UInt64(whole - half + 1))
    }

    /// It went well.
    mutating func reset() {
        next = first
    }
}
