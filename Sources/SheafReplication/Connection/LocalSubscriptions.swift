import SheafDocument
import SheafSync

/// The subscription of this peer, and its cursors at remote peers.
struct LocalSubscriptions {
    var queries: [SubscriptionQuery] = []
    /// All requested queries, including those that other queries cover.
    var requested: [SubscriptionQuery] = []
    /// The requested queries that exceed a limit with the current time, as they were requested.
    var unsendable: Set<SubscribedQuery> = []
    /// Whether some queries depend on the current time.
    var hasWindows = false
    /// The time of the last scheduled renewal of these queries; nil before the first tick.
    var renewedAt: UInt64?
    /// The wall time for which these queries are evaluated, in milliseconds.
    var wallMilliseconds: UInt64 = 0
    /// The queries in their wire form.
    var wire: [SubscribedQuery] = []
    var matcher: SubscriptionMatcher?
    /// Version of the subscription; cursors of other epochs are invalid.
    ///
    /// It increases when the subscription is widened and when documents are evicted.
    var epoch: UInt64 = 0
    /// Number of epoch increments caused by evictions.
    var evictionCount: UInt64 = 0
    /// Replication cursors, by peer key.
    var cursors: [[UInt8]: KnownCursor] = [:]
    /// Number of collections in the catalog at the last check of subscriptions at older peers.
    var checkedCollections = 0
    /// The collections that this peer knows, and their number in the catalog; nil if outdated.
    var known: (count: Int, collections: NamedCollections)?

    /// Whether all documents of all collections are subscribed to.
    var selectsAllCollections: Bool { queries.contains(where: \.selectsAllCollections) }
}

/// A replication cursor at a remote peer, and the subscription for which it is valid.
struct KnownCursor {
    let cursor: Cursor
    let epoch: UInt64
    /// The hash of the collections named to an older peer; nil if the queries were sent unchanged.
    let named: UInt64?
}

/// A subscription of this peer that the rate limiter delays.
struct DelayedSubscription {
    let turn: UInt64
    var complete: [DocumentAddress]
}
