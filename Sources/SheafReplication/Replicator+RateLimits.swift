import SheafDocument
import SheafEngine
import SheafQuery
import SheafSync

/// Rate limits for subscriptions, each of which costs the sending peer a scan of its documents.
///
/// Both sides count in the same way. A subscriber delays itself until its limit permits the
/// subscription. A peer that does not is delayed by the other side, and finally disconnected.
extension Replicator {
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

    // MARK: Time

    func applyRateLimits(_ connection: Connection) {
        if let due = connection.receiver.delayedSubscription, due.turn <= now {
            connection.receiver.delayedSubscription = nil
            sendSubscription(connection, complete: due.complete)
        }
    }
}
