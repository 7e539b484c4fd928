/// The broadcasts that wait to be sent, the oldest first.
package struct WaitingBroadcasts<Broadcast: Sendable>: Sendable {
    private var broadcasts: [Broadcast] = []

    /// Creates an empty list.
    package init() {}

    /// Whether no broadcast waits.
    package var isEmpty: Bool { broadcasts.isEmpty }

    /// Adds a broadcast; beyond the limit, the oldest one is discarded.
    package mutating func add(_ broadcast: Broadcast) {
        if broadcasts.count >= HubLimits.waitingBroadcasts { broadcasts.removeFirst() }
        broadcasts.append(broadcast)
    }

    /// Removes all broadcasts, and returns them.
    package mutating func take() -> [Broadcast] {
        defer { broadcasts = [] }
        return broadcasts
    }
}
