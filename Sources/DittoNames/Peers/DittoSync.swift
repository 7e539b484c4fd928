import Sheaf
import Synchronization

/// The subscriptions of a database, and whether it syncs.
public final class DittoSync: Sendable {
    /// The replicating peer; nil if the database was opened without peers.
    private let peer: Peer?
    private let registered = Mutex<Set<DittoSyncSubscription>>([])

    init(_ peer: Peer?) {
        self.peer = peer
    }

    /// Starts syncing with other peers.
    public func start() throws {
        try inDittoWords { try withPeer("sync") { try $0.sync.start() } }
    }

    /// Closes all connections; subscriptions are kept for the next start.
    public func stop() {
        peer?.sync.stop()
    }

    /// Whether sync is active.
    public var isActive: Bool { peer?.sync.isActive ?? false }

    /// Subscribes to documents of other peers, including their later changes.
    ///
    /// The query is `SELECT * FROM` a collection, with an optional `WHERE`. The subscription lasts
    /// until it is canceled or the database is closed; it need not be retained.
    @discardableResult
    public func registerSubscription(
        query: String, arguments: [String: Any?]? = nil
    ) throws -> DittoSyncSubscription {
        let statement = try DittoStatement(query, arguments)
        let subscription = try inDittoWords {
            try withPeer("a subscription") {
                try $0.sync.registerSubscription(statement.query, statement.arguments)
            }
        }
        let added = DittoSyncSubscription(query, statement.values, subscription) {
            [weak self] gone in
            self?.registered.withLock { _ = $0.remove(gone) }
        }
        registered.withLock { _ = $0.insert(added) }
        return added
    }

    /// Subscribes to documents of other peers.
    @discardableResult
    public func registerSubscription(
        _ query: String, arguments: [String: Any?]? = nil
    ) throws -> DittoSyncSubscription {
        try registerSubscription(query: query, arguments: arguments)
    }

    /// All subscriptions that are not canceled.
    public var subscriptions: Set<DittoSyncSubscription> { registered.withLock { $0 } }

    func withPeer<Result>(_ what: String, _ body: (Peer) throws -> Result) throws -> Result {
        guard let peer else { throw DittoError.withoutPeers(what) }
        return try body(peer)
    }

    /// Cancels all subscriptions.
    func close() {
        for subscription in subscriptions { subscription.cancel() }
        for subscription in peer?.sync.subscriptions ?? [] { subscription.cancel() }
    }
}

/// A subscription to documents of other peers; it lasts until it is canceled.
public final class DittoSyncSubscription: Sendable {
    /// The query as passed by the caller.
    public let queryString: String
    private let values: [String: Value]
    private let subscription: SyncSubscription
    private let onCancel: @Sendable (DittoSyncSubscription) -> Void

    init(
        _ query: String, _ values: [String: Value], _ subscription: SyncSubscription,
        onCancel: @escaping @Sendable (DittoSyncSubscription) -> Void
    ) {
        queryString = query
        self.values = values
        self.subscription = subscription
        self.onCancel = onCancel
    }

    /// The arguments of the query.
    public var queryArguments: [String: Any?] { values.mapValues(\.foundationValue) }

    /// Whether the subscription has ended.
    public var isCancelled: Bool { subscription.isCancelled }

    /// Ends the subscription; received documents are kept.
    ///
    /// Further calls have no effect.
    public func cancel() {
        subscription.cancel()
        onCancel(self)
    }
}

extension DittoSyncSubscription: Hashable {
    /// Whether both are the same subscription.
    public static func == (left: DittoSyncSubscription, right: DittoSyncSubscription) -> Bool {
        left === right
    }

    /// Hashes the identity of the subscription.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
