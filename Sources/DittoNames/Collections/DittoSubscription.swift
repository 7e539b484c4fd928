import Sheaf

/// A subscription to documents of other peers; it lasts until it is canceled or deallocated.
public final class DittoSubscription: Sendable {
    /// The condition as passed by the caller.
    public let query: String
    /// The collection of the subscription.
    public let collectionName: String
    /// The subscription of the peer; nil if it was refused.
    private let subscription: SyncSubscription?

    init(_ pending: PendingQuery, _ store: DittoStore) {
        query = pending.condition
        collectionName = pending.collection
        subscription = store.errorHandler.returning(nil) {
            let statement = try pending.statement("SELECT *")
            guard let peer = store.peer else { throw DittoError.withoutPeers("a subscription") }
            return try peer.sync.registerSubscription(statement.query, statement.arguments)
        }
    }

    deinit {
        cancel()
    }

    /// Whether the subscription has ended.
    public var isCancelled: Bool { subscription?.isCancelled ?? true }

    /// Ends the subscription; received documents are kept.
    ///
    /// Further calls have no effect.
    public func cancel() {
        subscription?.cancel()
    }
}

extension DittoPendingCursorOperation {
    /// Subscribes to the matching documents of other peers.
    ///
    /// The query must have no order, limit or offset; otherwise the subscription is refused, and
    /// the error is passed to `onUnthrownError` of the store.
    public func subscribe() -> DittoSubscription {
        DittoSubscription(query, store)
    }
}

extension DittoPendingIDSpecificOperation {
    /// Subscribes to the document with this id.
    public func subscribe() -> DittoSubscription {
        DittoSubscription(query, store)
    }
}
