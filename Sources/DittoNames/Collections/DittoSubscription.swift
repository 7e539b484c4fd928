import Sheaf

/// Documents that are wanted of other peers, as long as somebody holds it and it is not cancelled.
public final class DittoSubscription: Sendable {
    /// The condition as it was handed over.
    public let query: String
    /// The collection whose documents are wanted.
    public let collectionName: String
    /// None where it was refused.
    private let subscription: Subscription?

    init(_ pending: PendingQuery, _ store: DittoStore) {
        query = pending.condition
        collectionName = pending.collection
        subscription = store.complaints.returning(nil) {
            let statement = try pending.statement("SELECT *")
            guard let peer = store.peer else { throw DittoError.withoutPeers("a subscription") }
            return try peer.sync.registerSubscription(statement.query, statement.arguments)
        }
    }

    deinit {
        cancel()
    }

    /// Whether nothing more is wanted.
    public var isCancelled: Bool { subscription?.isCancelled ?? true }

    /// Ends the subscription; what has come by then stays.
    ///
    /// Further calls do nothing.
    public func cancel() {
        subscription?.cancel()
    }
}

extension DittoPendingCursorOperation {
    /// Wants the documents of other peers from now on.
    ///
    /// Documents are wanted without order, limit and offset: with these nothing is, and `onUnthrownError` of the
    /// store hears why.
    public func subscribe() -> DittoSubscription {
        DittoSubscription(query, store)
    }
}

extension DittoPendingIDSpecificOperation {
    /// Wants the document of other peers from now on.
    public func subscribe() -> DittoSubscription {
        DittoSubscription(query, store)
    }
}
