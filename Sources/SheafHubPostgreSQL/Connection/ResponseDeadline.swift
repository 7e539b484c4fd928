/// The time, in nanoseconds, until which a server must have sent something.
package struct ResponseDeadline: Sendable {
    package let time: UInt64

    /// Creates the deadline of a server that has just sent or received something.
    package init(from now: UInt64) {
        time = now + PostgreSQLLimits.responseSeconds * 1_000_000_000
    }

    /// Whether a server that has sent nothing is disconnected.
    package func hasPassed(at now: UInt64) -> Bool { now >= time }
}
