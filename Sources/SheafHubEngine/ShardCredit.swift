import SheafHubLog

/// The bytes of a shard that were delivered and not yet consumed.
package struct ShardCredit: Sendable {
    private let limit: Int
    private var unread = 0

    package init(limit: Int = HubLimits.unreadLength) {
        self.limit = limit
    }

    /// Counts an entry if the limit admits it; returns whether it may be delivered.
    ///
    /// One entry is always admitted if none is unread, so that a long one cannot stop a shard.
    package mutating func take(_ length: Int) -> Bool {
        guard unread == 0 || length <= limit - unread else { return false }
        unread += length
        return true
    }

    /// Restores the credit of bytes that the host has consumed.
    package mutating func consumed(_ bytes: Int) {
        unread = max(unread - bytes, 0)
    }
}
