import Sheaf
import Synchronization

/// What is wanted of other peers, and whether they are talked to at all.
public final class DittoSync: Sendable {
    /// None where the database was opened without peers.
    private let peer: Peer?
    private let registered = Mutex<Set<DittoSyncSubscription>>([])

    init(_ peer: Peer?) {
        self.peer = peer
    }

    /// Begins to talk to other peers.
    public func start() throws {
        try inDittoWords { try withPeer("sync") { try $0.sync.start() } }
    }

    /// Ends all connections; subscriptions stay, and go on with the next start.
    public func stop() {
        peer?.sync.stop()
    }

    /// Whether other peers are talked to.
    public var isActive: Bool { peer?.sync.isActive ?? false }

    /// Wants documents of others from now on: those that are there, and what becomes of them.
    ///
    /// The query is `SELECT * FROM` a collection, with or without `WHERE`. The subscription lasts until it is
    /// cancelled, or the database is closed; nobody has to hold it.
    @discardableResult
    public func registerSubscription(
        query: String, arguments: [String: Any?]? = nil
    ) throws -> DittoSyncSubscription {
        let statement = try Statement(query, arguments)
        let subscription = try inDittoWords {
            try withPeer("a subscription") {
                try $0.sync.registerSubscription(statement.query, statement.arguments)
            }
        }
        let made = DittoSyncSubscription(query, statement.values, subscription) {
            [weak self] gone in
            self?.registered.withLock { _ = $0.remove(gone) }
        }
        registered.withLock { _ = $0.insert(made) }
        return made
    }

    /// Wants documents of others from now on.
    @discardableResult
    public func registerSubscription(
        _ query: String, arguments: [String: Any?]? = nil
    ) throws -> DittoSyncSubscription {
        try registerSubscription(query: query, arguments: arguments)
    }

    /// All subscriptions that were not cancelled.
    public var subscriptions: Set<DittoSyncSubscription> { registered.withLock { $0 } }

    func withPeer<Result>(_ what: String, _ body: (Peer) throws -> Result) throws -> Result {
        guard let peer else { throw DittoError.withoutPeers(what) }
        return try body(peer)
    }

    /// Lets go of all subscriptions.
    func close() {
        for subscription in subscriptions { subscription.cancel() }
        for subscription in peer?.sync.subscriptions ?? [] { subscription.cancel() }
    }
}

/// Documents that are wanted of others, for as long as it is not cancelled.
public final class DittoSyncSubscription: Sendable {
    /// The query as it was handed over.
    public let queryString: String
    private let values: [String: Value]
    private let subscription: Subscription
    private let onCancel: @Sendable (DittoSyncSubscription) -> Void

    init(
        _ query: String, _ values: [String: Value], _ subscription: Subscription,
        onCancel: @escaping @Sendable (DittoSyncSubscription) -> Void
    ) {
        queryString = query
        self.values = values
        self.subscription = subscription
        self.onCancel = onCancel
    }

    /// The arguments of the query.
    public var queryArguments: [String: Any?] { values.mapValues(\.foundationValue) }

    /// Whether it was ended.
    public var isCancelled: Bool { subscription.isCancelled }

    /// Ends the subscription; what has come by then stays.
    ///
    /// Further calls do nothing.
    public func cancel() {
        subscription.cancel()
        onCancel(self)
    }
}

extension DittoSyncSubscription: Hashable {
    public static func == (left: DittoSyncSubscription, right: DittoSyncSubscription) -> Bool {
        left === right
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
