import SheafDocument
import SheafEngine
import SheafQuery
import SheafSync

/// Rate limits for subscriptions, each of which costs the sending peer a scan of its documents.
///
/// Both sides count in the same way. A subscriber delays itself until its limit permits the
/// subscription. A peer that does not is delayed by the other side, and finally disconnected.
extension Replicator {
    /// A received subscription until it is active.
    struct Delayed {
        let request: Subscribe
        let turn: UInt64
        /// The part of its queries that is parsed.
        var reading = SubscriptionReading()
        // Later requests keep the snapshot of their receipt: otherwise the peer would miss a
        // document that is added and deleted before the answer.
        var questionSnapshot: DocumentSnapshot?
        package var wanted: (documents: Want.Documents, snapshot: DocumentSnapshot)?
        /// Whether the subscription was received before the limit permitted it.
        var isEarly = false
    }

    /// A subscription of this peer that the rate limiter delays.
    struct DelayedSubscription {
        let turn: UInt64
        package var complete: [DocumentAddress]
    }

    // MARK: Subscriptions of this peer

    /// Subscribes now or when the limit permits it; until then, received batches are ignored.
    func subscribe(_ connection: Connection, complete: [DocumentAddress]) {
        if connection.receiver.delayedSubscription != nil {
            connection.receiver.delayedSubscription?.complete += complete
            return
        }
        let turn = rateLimiters.subscribe(at: connection.session.remote?.peerKey, now)
        guard turn > now else { return sendSubscription(connection, complete: complete) }
        connection.receiver.delayedSubscription = DelayedSubscription(
            turn: turn, complete: complete)
    }

    // MARK: Subscriptions of remote peers

    /// Handles a received subscription, and starts it if the limit permits.
    func subscribed(_ connection: Connection, _ request: Subscribe) {
        let turn = rateLimiters.recordSubscription(of: connection.session.remote?.peerKey, now)
        // A new subscription ends the previous one.
        connection.sender = nil
        let announcementTimeout =
            UInt64(SyncLimits.delayedSubscriptions) * SyncLimits.subscriptionNanoseconds
        if turn > now + announcementTimeout {
            connection.delayed = nil
            fail(connection, .limit, "too many subscriptions in a short time")
        } else {
            connection.delayed = Delayed(request: request, turn: turn, isEarly: turn > now)
            begin(connection)
        }
    }

    // MARK: Time

    func applyRateLimits(_ connection: Connection) {
        if let due = connection.receiver.delayedSubscription, due.turn <= now {
            connection.receiver.delayedSubscription = nil
            sendSubscription(connection, complete: due.complete)
        }
    }
}
