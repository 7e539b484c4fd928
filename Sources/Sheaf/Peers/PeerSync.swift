import SheafEngine
import SheafQuery
public import SheafReplication
public import SheafStatements
import SheafStorage
package import SheafSystem
import SheafTransport
import Synchronization

/// The subscriptions of a peer, and the replication progress of other peers.
public final class PeerSync: Sendable {
    private struct State: Sendable {
        var subscriptions: [SyncSubscription] = []
        /// The queries of the subscriptions, in the same order.
        var queries: [SubscriptionQuery] = []
        var tally = SubscriptionTally()
        var isActive = false
        var isShutDown = false
        var discovery = PeerDiscovery.off
        var count: UInt64 = 0
    }

    let store: Store
    let loop: PeerLoop
    let registry: ReplicationRegistry
    private let transports: [any PeerTransport]
    private let connections: PeerConnections
    private let unreachable: UnreachableAddresses
    private let state = Mutex(State())

    init(
        _ store: Store, _ loop: PeerLoop, _ registry: ReplicationRegistry,
        _ transports: [any PeerTransport],
        _ links: PeerConnections, _ unreachable: UnreachableAddresses
    ) {
        self.unreachable = unreachable
        self.store = store
        self.loop = loop
        self.registry = registry
        self.transports = transports
        self.connections = links
        registry.recordTransports(transports.map { String(describing: type(of: $0)) })
    }

    /// Starts the transports, which connect to other peers.
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
        registry.recordSyncing(true)
        for (number, transport) in transports.enumerated() {
            do {
                try transport.start(connections)
            } catch {
                for started in transports.prefix(number) { started.stop() }
                state.withLock { $0.isActive = false }
                registry.recordSyncing(false)
                throw error
            }
        }
    }

    /// Stops the transports and ends all connections; subscriptions resume with the next start.
    public func stop() {
        let ends = state.withLock { state in
            defer { state.isActive = false }
            return state.isActive
        }
        guard ends else { return }
        loop.post(.stopConnections)
        for transport in transports { transport.stop() }
        loop.post(.addressesChanged)
        unreachable.removeAll()
        loop.post(.unreachableChanged)
        registry.recordSyncing(false)
    }

    /// Accepts no more connections, and looks for no more peers; open connections remain.
    ///
    /// A server that stops does so first. `stop()` and `start()` accept connections again.
    public func stopAccepting() {
        discovery = .off
        for transport in transports { transport.stopAccepting() }
    }

    /// Where the transports look for peers.
    var discovery: PeerDiscovery {
        get { state.withLock(\.discovery) }
        set {
            // Under the lock, so that all transports end with the same value.
            state.withLock { state in
                state.discovery = newValue
                for transport in transports { transport.setDiscovery(newValue) }
            }
        }
    }

    /// Whether the transports are started.
    public var isActive: Bool { state.withLock(\.isActive) }

    func shutDown() {
        state.withLock { $0.isShutDown = true }
        stop()
        registry.close()
    }

    /// Subscribes to the documents of other peers that match a query.
    ///
    ///     let red = try peer.sync.registerSubscription(
    ///         "SELECT * FROM cars WHERE color = :color", ["color": "red"])
    ///
    /// The query is `SELECT * FROM` a collection, with an optional `WHERE`; `ORDER BY` and `LIMIT`
    /// are allowed if `dql_restrict_subscriptions` is false. A `WHERE` with `clock()` is a sliding
    /// window, renewed after each `subscription_clock_interval_ms`. The subscription lasts until it
    /// is canceled or the peer is closed, even if the returned handle is released: it describes
    /// what the peer replicates, not what a caller reads. Received documents are kept.
    @discardableResult
    public func registerSubscription(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) throws -> SyncSubscription {
        try register(try check(query, arguments))
    }

    /// Subscribes to all documents of all collections, also of those that do not exist yet.
    ///
    ///     let all = try peer.sync.registerSubscriptionToAllCollections()
    ///
    /// Other peers send the documents that the rights of this peer let it read. The text of the
    /// subscription is `*`. An older peer, which has no such subscription, sends the collections
    /// that this peer or one of its subscriptions already has, and those that it subscribes to.
    @discardableResult
    public func registerSubscriptionToAllCollections() throws -> SyncSubscription {
        try register(.allCollections)
    }

    private func register(_ checked: SubscriptionQuery) throws -> SyncSubscription {
        let subscription: SyncSubscription? = try state.withLock { state in
            guard !state.isShutDown else { return nil }
            try state.tally.add(checked)
            state.count += 1
            let subscription = SyncSubscription(checked, number: state.count, sync: self)
            state.subscriptions.append(subscription)
            state.queries.append(checked)
            post(state.queries)
            return subscription
        }
        guard let subscription else { throw StoreError.closed }
        return subscription
    }

    /// The active subscriptions, in the order of their registration.
    public var subscriptions: [SyncSubscription] { state.withLock(\.subscriptions) }

    func remove(_ subscription: SyncSubscription) -> Bool {
        state.withLock { state in
            guard let index = state.subscriptions.firstIndex(where: { $0 === subscription }) else {
                return false
            }
            state.subscriptions.remove(at: index)
            state.queries.remove(at: index)
            state.tally.remove(subscription.checked)
            post(state.queries)
            return true
        }
    }

    /// Posts the subscriptions to the replication thread, under the lock to keep their order.
    private func post(_ queries: [SubscriptionQuery]) {
        loop.post(.subscribed(queries))
    }

    /// Returns a checksum of the local documents that match a query, to compare with other peers.
    ///
    ///     let mine = try peer.sync.checksum(of: "SELECT * FROM cars")
    public func checksum(
        of query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) throws -> DocumentChecksum {
        let checked = try check(query, arguments)
        return try checksum(of: [checked])
    }

    /// Returns a checksum of the local documents that match a subscription.
    public func checksum(of subscription: SyncSubscription) throws -> DocumentChecksum {
        try checksum(of: [try subscription.checked.renewed(at: now, store.queries)])
    }

    /// Returns a checksum of a subscription's local documents; `stop` cancels the evaluation.
    package func checksum(
        of subscription: SyncSubscription, until stop: EvaluationStop
    ) throws -> DocumentChecksum {
        try checksum(of: [try subscription.checked.renewed(at: now, store.queries)], until: stop)
    }

    private func checksum(
        of queries: [SubscriptionQuery], until stop: EvaluationStop? = nil
    ) throws -> DocumentChecksum {
        let matcher = SubscriptionMatcher(queries, store.queries, stop: stop)
        do throws(EngineError) {
            let snapshot = store.queries.snapshot()
            return DocumentChecksum(
                try snapshot.versions(matching: matcher, allAreReadable: false))
        } catch {
            throw StoreError(error)
        }
    }

    /// The current time in milliseconds since 1970.
    private var now: UInt64 { store.queries.options.clock.wallMilliseconds() }

    private func check(
        _ query: DQL, _ arguments: QueryArguments
    ) throws(StoreError) -> SubscriptionQuery {
        try SubscriptionQuery(
            try store.queries.statement(query), try query.bind(arguments), store.queries,
            isRestricted: store.queries.parameters.values.restrictsSubscriptions,
            isStrict: store.queries.parameters.values.isStrict, at: now)
    }
}

/// A registered query; matching documents are replicated to this peer until it is canceled.
///
/// Unlike an observer, a subscription outlives its handle: it has no callback that could use
/// released state, and a peer that replicated less whenever a view is closed would transfer
/// documents again when the view is opened. `PeerSync.subscriptions` lists them.
public final class SyncSubscription: Sendable {
    let checked: SubscriptionQuery
    private let number: UInt64
    /// The owner, which holds the subscription; weak to avoid a cycle.
    private weak let sync: PeerSync?

    init(_ checked: SubscriptionQuery, number: UInt64, sync: PeerSync) {
        self.checked = checked
        self.number = number
        self.sync = sync
    }

    /// The text of the query.
    public var query: String { checked.text }

    /// Ends the subscription; further calls have no effect.
    public func cancel() {
        _ = sync?.remove(self)
    }

    /// Whether the subscription is canceled, or its peer is released.
    public var isCancelled: Bool {
        !(sync?.subscriptions.contains { $0 === self } ?? false)
    }
}
