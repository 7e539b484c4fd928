/// The times by which requests must arrive, by the numbers of their sockets.
package struct RequestDeadlines: Sendable {
    private let nanoseconds: UInt64
    private var deadlines: [Int32: UInt64] = [:]

    /// Creates an empty table of deadlines, this number of seconds after each beginning.
    package init(seconds: Int) {
        nanoseconds = UInt64(seconds) * 1_000_000_000
    }

    package var isEmpty: Bool { deadlines.isEmpty }

    /// Begins the time for a request on a socket, also if one has begun.
    package mutating func begin(_ socket: Int32, at now: UInt64) {
        deadlines[socket] = now + nanoseconds
    }

    /// Ends the time for a request on a socket, which has arrived or will not.
    package mutating func end(_ socket: Int32) {
        deadlines[socket] = nil
    }

    /// Removes and returns the sockets whose deadline has passed.
    package mutating func takeExpired(at now: UInt64) -> [Int32] {
        let expired = deadlines.filter { $0.value <= now }.map(\.key)
        for socket in expired { deadlines[socket] = nil }
        return expired
    }

    /// Returns the time of the next check: a fixed time after the last one.
    ///
    /// With a check for each deadline, many connections would cause many wake-ups.
    package func nextCheck(after now: UInt64) -> UInt64 { now + nanoseconds / 4 }
}
