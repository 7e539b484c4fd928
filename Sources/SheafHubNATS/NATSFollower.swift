package import SheafHubEngine
package import SheafHubLog

/// The consumer of a shard: what it delivered, and when it must be replaced by another one.
///
/// A consumer on the brokers sends entries to a subscription, numbers its deliveries, stops
/// after some of them until its flow control is answered, and sends heartbeats while it has no
/// entry. Times are those of a monotonic clock, in nanoseconds.
package struct NATSFollower: Sendable {
    /// The work of the thread of the followers.
    package enum Action: Equatable, Sendable {
        case nothing
        /// Creates another subscription and another consumer.
        case subscribe
        /// Compares with the number of the last entry of the stream.
        case check
    }

    private enum Phase: Equatable {
        case idle
        case unsubscribed(retryAt: UInt64)
        /// The consumer of this subscription is being created, or exists.
        case subscribed(UInt)
    }

    /// The interval of heartbeats.
    package static let heartbeatNanoseconds: UInt64 = 1_000_000_000
    /// Time without a message after which a consumer is replaced.
    package static let silenceNanoseconds: UInt64 = 3_500_000_000
    /// Time until a consumer is created again; doubled after each failure.
    private static let retryNanoseconds: ClosedRange<UInt64> = 500_000_000...8_000_000_000
    /// Time without an entry after which the end of the stream is compared; doubled each time.
    private static let checkNanoseconds: ClosedRange<UInt64> = 4_000_000_000...60_000_000_000
    /// Time within which a consumer must deliver an entry that the stream has.
    private static let graceNanoseconds: UInt64 = 1_500_000_000

    /// The number of the next entry.
    package private(set) var next: UInt64 = 1
    package private(set) var credit: ShardCredit
    private var phase = Phase.idle
    private var retryInterval = retryNanoseconds.lowerBound
    /// The number of the last delivery of the consumer.
    private var sequence: UInt64 = 0
    /// Entries that wait for credit.
    private var waiting: [HubLogEntry] = []
    /// The subject on which the consumer expects an answer when no entry waits.
    private var flowReply: String?
    /// When the consumer last sent a message.
    private var lastMessageAt: UInt64 = 0
    private var checkAt: UInt64 = 0
    private var checkInterval = checkNanoseconds.lowerBound
    /// Time until which an entry that the stream has must be delivered; nil if there is none.
    private var deliveryEnd: UInt64?

    package init(unreadLength: Int) {
        credit = ShardCredit(limit: unreadLength)
    }

    /// The number of the subscription, if there is one.
    package var subscription: UInt? {
        if case .subscribed(let number) = phase { number } else { nil }
    }

    /// Whether new entries are delivered.
    package var isFollowing: Bool { phase != .idle }

    // MARK: - Calls of the hub

    package mutating func follow(from entry: UInt64, at now: UInt64) {
        next = max(entry, 1)
        restart(at: now)
    }

    package mutating func unfollow() {
        phase = .idle
        waiting = []
        flowReply = nil
    }

    package mutating func consumed(_ bytes: Int) { credit.consumed(bytes) }

    /// Counts an entry that was read again; returns whether it may be delivered.
    package mutating func take(_ length: Int) -> Bool { credit.take(length) }

    // MARK: - Messages of the consumer

    /// Handles an entry; a missing delivery before it replaces the consumer.
    package mutating func received(_ delivery: NATSDelivery, _ bytes: [UInt8], at now: UInt64) {
        lastMessageAt = now
        retryInterval = Self.retryNanoseconds.lowerBound
        guard delivery.sequence == sequence + 1 else { return resubscribe(at: now) }
        sequence = delivery.sequence
        guard delivery.entry < UInt64.max else { return }
        next = max(next, delivery.entry + 1)
        waiting.append(
            HubLogEntry(delivery.entry, bytes, storedAt: delivery.wallMilliseconds))
        deliveryEnd = nil
        checkInterval = Self.checkNanoseconds.lowerBound
        checkAt = now + checkInterval
    }

    /// Handles a heartbeat, with the number of the last delivery, and a subject to answer.
    package mutating func receivedHeartbeat(lastSequence: UInt64?, stalled: String?, at now: UInt64)
    {
        lastMessageAt = now
        retryInterval = Self.retryNanoseconds.lowerBound
        if let lastSequence, lastSequence != sequence { return resubscribe(at: now) }
        if let stalled { flowReply = stalled }
    }

    /// Handles a request of flow control.
    package mutating func received(flowReply reply: String, at now: UInt64) {
        lastMessageAt = now
        flowReply = reply
    }

    /// Replaces the consumer, because it or the connection ended.
    package mutating func resubscribe(at now: UInt64) {
        guard isFollowing else { return }
        retryInterval = Self.retryNanoseconds.lowerBound
        phase = .unsubscribed(retryAt: now)
        flowReply = nil
    }

    // MARK: - Deliveries

    /// Returns the entries that may be delivered now.
    package mutating func takeEntries() -> [HubLogEntry] {
        var count = 0
        while count < waiting.count, credit.take(waiting[count].bytes.count) { count += 1 }
        guard count > 0 else { return [] }
        defer { waiting.removeFirst(count) }
        return Array(waiting.prefix(count))
    }

    /// Returns the subject on which the consumer expects an answer now.
    package mutating func takeFlowReply() -> String? {
        guard waiting.isEmpty else { return nil }
        defer { flowReply = nil }
        return flowReply
    }

    // MARK: - The worker thread

    /// Returns what is due, and records that it was begun.
    package mutating func action(at now: UInt64) -> Action {
        switch phase {
        case .idle: return .nothing
        case .unsubscribed(let retryAt):
            guard retryAt <= now else { return .nothing }
            phase = .unsubscribed(retryAt: now + retryInterval)
            return .subscribe
        case .subscribed:
            if lastMessageAt + Self.silenceNanoseconds < now { return replace(at: now) }
            if let deliveryEnd, deliveryEnd < now {
                if waiting.isEmpty { return replace(at: now) }
                self.deliveryEnd = nil
            }
            guard checkAt <= now, waiting.isEmpty else { return .nothing }
            checkInterval = min(2 * checkInterval, Self.checkNanoseconds.upperBound)
            checkAt = now + checkInterval
            return .check
        }
    }

    /// Records a subscription whose consumer is created from `next` on.
    package mutating func subscribed(_ number: UInt, at now: UInt64) {
        phase = .subscribed(number)
        sequence = 0
        flowReply = nil
        deliveryEnd = nil
        lastMessageAt = now
        checkInterval = Self.checkNanoseconds.lowerBound
        checkAt = now + checkInterval
    }

    /// Records that the consumer of a subscription could not be created.
    package mutating func failed(_ number: UInt, at now: UInt64) {
        guard subscription == number else { return }
        phase = .unsubscribed(retryAt: now + retryInterval)
        retryInterval = min(2 * retryInterval, Self.retryNanoseconds.upperBound)
    }

    /// Records the last entry of the stream.
    package mutating func checked(last: UInt64, at now: UInt64) {
        if next <= last { deliveryEnd = now + Self.graceNanoseconds }
    }

    private mutating func replace(at now: UInt64) -> Action {
        phase = .unsubscribed(retryAt: now + retryInterval)
        flowReply = nil
        return .subscribe
    }

    private mutating func restart(at now: UInt64) {
        waiting = []
        flowReply = nil
        phase = .unsubscribed(retryAt: now)
    }
}
