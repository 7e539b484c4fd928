/// The broadcasts that wait to be sent, the oldest first.
package struct NATSBroadcasts: Sendable {
    /// A message that is sent without a guarantee of delivery.
    package typealias Broadcast = (subject: String, bytes: [UInt8])

    /// Maximum number of broadcasts that wait; beyond it, the oldest ones are lost.
    private static let maximumCount = 1_024

    private var broadcasts: [Broadcast] = []

    /// Creates an empty list.
    package init() {}

    /// Whether no broadcast waits.
    package var isEmpty: Bool { broadcasts.isEmpty }

    /// Adds a broadcast; beyond the limit, the oldest one is lost.
    package mutating func add(_ subject: String, _ bytes: [UInt8]) {
        if broadcasts.count >= Self.maximumCount { broadcasts.removeFirst() }
        broadcasts.append((subject, bytes))
    }

    /// Removes all broadcasts, and returns them.
    package mutating func take() -> [Broadcast] {
        defer { broadcasts = [] }
        return broadcasts
    }
}
