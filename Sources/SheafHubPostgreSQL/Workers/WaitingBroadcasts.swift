/// The broadcasts that wait for a connection, the oldest first.
package struct WaitingBroadcasts: Sendable {
    private var broadcasts: [[UInt8]] = []

    /// Creates an empty list.
    package init() {}

    /// Whether no broadcast waits.
    package var isEmpty: Bool { broadcasts.isEmpty }

    /// Adds a broadcast; beyond the limit, the oldest one is discarded.
    package mutating func add(_ bytes: [UInt8]) {
        broadcasts.append(bytes)
        let surplus = broadcasts.count - PostgreSQLLimits.waitingBroadcasts
        if surplus > 0 { broadcasts.removeFirst(surplus) }
    }

    /// Removes all broadcasts, and returns them.
    package mutating func take() -> [[UInt8]] {
        defer { broadcasts = [] }
        return broadcasts
    }
}
