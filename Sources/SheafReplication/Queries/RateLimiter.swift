import SheafSync

/// A rate limiter, which permits a burst and then one subscription per interval.
struct RateLimiter {
    /// The end of the intervals of all permitted subscriptions.
    private var end: UInt64 = 0

    /// Consumes an interval, and returns when the subscription is permitted.
    mutating func consume(at now: UInt64) -> UInt64 {
        let length = SyncLimits.subscriptionNanoseconds
        let atOnce = UInt64(SyncLimits.subscriptionsAtOnce) * length
        let most = atOnce + UInt64(SyncLimits.delayedSubscriptions + 1) * length
        end = min(max(end, now) + length, now + most)
        return max(now, end - min(end, atOnce))
    }

    func isOver(at now: UInt64) -> Bool { end <= now }
}

/// The rate limiters for both directions by peer key, which outlive connections.
package struct RateLimiters {
    private var receiver: [[UInt8]: RateLimiter] = [:]
    private var sender: [[UInt8]: RateLimiter] = [:]

    /// Maximum number of rate limiters; beyond it idle ones are discarded.
    package static let maximumCount = 1_024

    package init() {}

    /// Whether a peer has subscribed, on this or another connection.
    package func hasSubscribed(_ key: [UInt8]) -> Bool { sender[key] != nil }

    /// Counts a subscription of this peer, and returns when it is permitted.
    package mutating func subscribe(at key: [UInt8]?, _ now: UInt64) -> UInt64 {
        Self.consume(&receiver, key, now)
    }

    /// Counts a subscription of another peer, and returns when it is permitted.
    package mutating func recordSubscription(of key: [UInt8]?, _ now: UInt64) -> UInt64 {
        Self.consume(&sender, key, now)
    }

    private static func consume(
        _ limiters: inout [[UInt8]: RateLimiter], _ key: [UInt8]?, _ now: UInt64
    ) -> UInt64 {
        guard let key else { return now }
        if limiters.count >= maximumCount {
            limiters = limiters.filter { !$0.value.isOver(at: now) }
        }
        return limiters[key, default: RateLimiter()].consume(at: now)
    }
}
