import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafSync

/// Subscriptions that read `clock()`, such as those to the documents of the last 24 hours.
///
/// Both peers must select the same documents, so the subscriber fixes the time in the text of the
/// query. A renewed time is a new subscription. It keeps the cursors if all bounds that depend on
/// the time are lower ones and have risen; otherwise the peers reconcile.
extension Replicator {
    /// The interval at which the time is renewed.
    private var windowNanoseconds: UInt64 {
        queries.parameters.values.subscriptionClockNanoseconds
    }

    /// The time of the next renewal; nil if no query depends on the current time.
    var windowDeadline: UInt64? {
        guard subscriptions.hasWindows else { return nil }
        return subscriptions.renewedAt.map { $0 + windowNanoseconds } ?? now
    }

    /// Renews the time of the queries that read `clock()`, if it is due.
    ///
    /// A connection that is receiving documents is renewed once these are written: a first
    /// synchronization that takes longer than the interval would otherwise never end.
    func renewWindowsIfDue() {
        guard subscriptions.hasWindows else { return }
        guard let renewedAt = subscriptions.renewedAt else {
            subscriptions.renewedAt = now
            return
        }
        guard renewedAt + windowNanoseconds <= now else { return }
        subscriptions.renewedAt = now
        fixWindows()
        for connection in orderedConnections
        where connection.session.isOpen && connection.receiver.former != nil {
            if connection.receiver.isSettled {
                renewSubscription(connection)
            } else {
                connection.receiver.awaitsRenewal = true
            }
        }
    }

    /// Sets the time of the queries that read `clock()` to the current one.
    ///
    /// Open connections keep the former queries until they are subscribed again.
    func fixWindows() {
        guard subscriptions.hasWindows, subscriptions.wallMilliseconds != wallMilliseconds else {
            return
        }
        let former = subscriptions
        guard replaceSubscription(with: subscriptions.requested) else { return }
        for connection in orderedConnections
        where connection.session.isOpen && connection.receiver.former == nil {
            connection.receiver.former = former
        }
    }
}
