/// The pending flush requests of the group committer.
///
/// A state machine: it receives the time, and returns whether a flush is due.
package struct FlushRequest: Sendable {
    /// Whether a flush is due regardless of the deadline.
    package var isUrgent = false
    /// Whether the thread must end.
    package var isStopping = false
    /// The time by which relaxed commits must be on disk.
    package private(set) var deadline: UInt64?

    /// The longest interval of relaxed durability; it prevents an overflow.
    private static let longestWaitMilliseconds = 365 * 86_400_000

    package init() {}

    /// Requests a flush within `milliseconds`; returns false if an earlier request covers it.
    package mutating func flush(within milliseconds: Int, at now: UInt64) -> Bool {
        // The interval begins with the first pending commit, and later ones do not extend it.
        guard deadline == nil else { return false }
        deadline =
            now + UInt64(min(max(milliseconds, 0), Self.longestWaitMilliseconds)) * 1_000_000
        return true
    }

    /// Begins a flush if one is due; returns nil if none is, and false if the thread must end.
    package mutating func begin(at now: UInt64) -> Bool? {
        if isStopping { return false }
        let isDue = deadline.map { $0 <= now } ?? false
        guard isUrgent || isDue else { return nil }
        isUrgent = false
        deadline = nil
        return true
    }
}
