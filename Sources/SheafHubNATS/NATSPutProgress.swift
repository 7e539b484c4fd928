/// The time at which a message of an object was last stored, and whether `put` fails.
///
/// Times are those of a monotonic clock, in nanoseconds.
package struct NATSPutProgress: Sendable {
    /// Time after which `put` fails if no message is stored.
    private static let patienceNanoseconds: UInt64 = 20_000_000_000

    private var progressAt: UInt64

    /// Creates the progress of an object whose messages are sent from now on.
    package init(at now: UInt64) {
        progressAt = now
    }

    /// Records that a message was stored.
    package mutating func recordStored(at now: UInt64) { progressAt = now }

    /// Whether no message was stored for too long, so that `put` fails with its last error.
    package func isOver(at now: UInt64) -> Bool { now > progressAt + Self.patienceNanoseconds }
}
