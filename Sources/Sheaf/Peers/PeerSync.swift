package import SheafQuery
import Synchronization

/// What a peer wants of others, and how far they have what it wrote.
public final class PeerSync: Sendable {
    private struct State: Sendable {
        var subscriptions: [Subscription] = []
        var tally = SubscriptionTally()
        var isActive = false
        var isShutDown = false
        var count: UInt64 = 0
    }

    let store: Store
    let loop: PeerLoop
    let board: SyncBoard
    private let transports: [any PeerTransport]
    private let links: PeerLinks
    private let unreachable: UnreachableAddresses
    private let state = Mutex(State())

    init(
        _ store: Store, _ loop: PeerLoop, _ board: SyncBoard, _ transports: [any PeerTransport],
        _ links: PeerLinks, _ unreachable: UnreachableAddresses
    ) {
        self.unreachable = unreachable
        self.store = store
        self.loop = loop
        self.board = board
        self.transports = transports
        self.links = links
        board.noteTransports(transports.map { String(describing: type(of: $0)) })
    }

    /// Begins to look for other peers and to talk to them.
    public func start() throws {
        let begins = state.withLock { state in
            guard !state.isShutDown else { return false }
            defer { state.isActive = true }
            return !state.isActive
        }
        guard begins else {
            if state.withLock(\.isShutDown) { throw StoreError.closed }
            return
        }
        board.noteSyncing(true)
        for (number, transport) in transports.enumerated() {
            do {
                try transport.start(links)
            } catch {
                for started in transports.prefix(number) { started.stop() }
                state.withLock { $0.isActive = false }
                board.noteSyncing(false)
                throw error
            }
        }
    }

    /// Ends all connections; subscriptions stay, and go on with the next start.
    public func stop() {
        let ends = state.withLock { state in
            defer { state.isActive = false }
            return state.isActive
        }
        guard ends else { return }
        loop.post(.stopConnections)
        for transport in transports { transport.stop() }
        unreachable.removeAll()
        loop.post(.unreachableChanged)
        board.noteSyncing(false)
    }

    /// Whether the peer looks for others, and talks to them.
    public var isActive: Bool { state.withLock(\.isActive) }

    func shutDown() {
        state.withLock { $0.isShutDown = true }
        stop()
        board.close()
    }

    /// Wants documents of others from now on: those that are there, and what becomes of them.
    ///
    ///     let red = try peer.sync.registerSubscription(
    ///         "SELECT * FROM cars WHERE color = :color", ["color": "red"])
    ///
    /// The query is `SELECT * FROM` a collection, with or without `WHERE`; and with `ORDER BY` and `LIMIT`
    /// where `dql_restrict_subscriptions` is false. The subscription lasts until it is cancelled, or the peer is
    /// closed; what has come by then stays.
    @discardableResult
    public func registerSubscription(
        _ query: Query, _ arguments: QueryArguments = QueryArguments()
    ) throws -> Subscription {
        let checked = try check(query, arguments)
        let subscription: Subscription? = try state.withLock { state in
            guard !state.isShutDown else { return nil }
            try onStore { () throws(QueryError) in try state.tally.add(checked) }
            state.count += 1
            let subscription = Subscription(checked, number: state.count, sync: self)
            state.subscriptions.append(subscription)
            tell(state)
            return subscription
        }
        guard let subscription else { throw StoreError.closed }
        return subscription
    }

    /// All that are wanted, in the order in which they came.
    public var subscriptions: [Subscription] { state.withLock(\.subscriptions) }

    func remove(_ subscription: Subscription) -> Bool {
        state.withLock { state in
            guard let index = state.subscriptions.firstIndex(where: { $0 === subscription }) else {
                return false
            }
            state.subscriptions.remove(at: index)
            state.tally.remove(subscription.checked)
            tell(state)
            return true
        }
    }

    /// Under the lock, so that the loop hears of changes in their order.
    private func tell(_ state: borrowing State) {
        loop.post(.subscribed(state.subscriptions.map(\.checked)))
    }

    /// What the documents of a query add up to here: peers that agree have the same.
    ///
    ///     let mine = try peer.sync.checksum(of: "SELECT * FROM cars")
    public func checksum(
        of query: Query, _ arguments: QueryArguments = QueryArguments()
    ) throws -> DocumentChecksum {
        let checked = try check(query, arguments)
        return try checksum(of: [checked])
    }

    /// The same for all that a subscription wants.
    public func checksum(of subscription: Subscription) throws -> DocumentChecksum {
        try checksum(of: [subscription.checked])
    }

    /// The same, for a caller that can end the evaluation from another thread.
    package func checksum(
        of subscription: Subscription, until stop: EvaluationStop
    ) throws -> DocumentChecksum {
        try checksum(of: [subscription.checked], until: stop)
    }

    private func checksum(
        of queries: [SubscriptionQuery], until stop: EvaluationStop? = nil
    ) throws -> DocumentChecksum {
        let matcher = SubscriptionMatcher(queries, store.queries, stop: stop)
        do throws(EngineError) {
            return DocumentChecksum(try store.queries.snapshot().versions(matching: matcher))
        } catch {
            throw StoreError(QueryError(error))
        }
    }

    private func check(
        _ query: Query, _ arguments: QueryArguments
    ) throws(StoreError) -> SubscriptionQuery {
        try onStore { () throws(QueryError) in
            try SubscriptionQuery(
                try store.queries.statement(query), try query.bind(arguments), store.queries,
                isRestricted: store.queries.parameters.values.restrictsSubscriptions,
                isStrict: store.queries.parameters.values.isStrict)
        }
    }
}

/// Documents that a peer wants of others, for as long as it is not cancelled.
public final class Subscription: Sendable {
    let checked: SubscriptionQuery
    private let number: UInt64
    /// Peers know their subscriptions, and not the other way round.
    private weak let sync: PeerSync?

    init(_ checked: SubscriptionQuery, number: UInt64, sync: PeerSync) {
        self.checked = checked
        self.number = number
        self.sync = sync
    }

    /// The text of the query.
    public var query: String { checked.statement.text }

    /// Ends the subscription; further calls do nothing.
    public func cancel() {
        _ = sync?.remove(self)
    }

    /// Whether it was ended.
    public var isCancelled: Bool {
        !(sync?.subscriptions.contains { $0 === self } ?? false)
    }
}
