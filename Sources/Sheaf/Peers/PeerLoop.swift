import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTransport
import Synchronization

/// The thread that passes events to the replicator and performs its effects.
///
/// Other threads only post events, so no writer or transport waits for it.
final class PeerLoop: Sendable {
    enum Event: Sendable {
        case connected(UInt64, any PeerConnection)
        case received(UInt64, [UInt8])
        case closed(UInt64, reason: String)
        /// This peer has refused a connection.
        case denied(PeerIdentity, String)
        /// The set of unreachable addresses has changed.
        case unreachableChanged
        case written(WriteJob.Outcome)
        /// The write gate has admitted the job.
        case entered(WriteJob)
        case subscribed([SubscriptionQuery])
        case fetch(AttachmentID)
        case cancelFetch(AttachmentID)
        case stopConnections
        /// The name or the metadata that this peer publishes has changed.
        case presented(name: String, metadata: [UInt8])
        /// Something has happened in the hub log.
        case hub(HubEvent)
        /// The addresses of a transport have changed.
        case addressesChanged
        /// A closure to call with the replicator, or with nil after the peer has stopped.
        case request(@Sendable (Replicator?) -> Void)
    }

    private struct Inbox: Sendable {
        var events: [Event] = []
        var hasPublished = false
        var isStopping = false
        /// Whether the thread has ended and events are refused.
        var isOver = false

        /// Appends an event; a `subscribed` event replaces another one directly before it.
        mutating func append(_ event: Event) {
            if case .subscribed = event, case .subscribed? = events.last { events.removeLast() }
            events.append(event)
        }

        var isEmpty: Bool { isEmptyBut(0) }

        /// Whether at most `count` events, and no other work, are pending.
        func isEmptyBut(_ count: Int) -> Bool {
            events.count <= count && !hasPublished && !isStopping
        }
    }

    /// The published states that have changed.
    private struct Outdated {
        var hasStatus = false
        var hasPresence = false
    }

    /// An open connection with its counters.
    private struct OpenConnection {
        let connection: any PeerConnection
        let traffic: ConnectionTraffic
    }

    private let inbox = Monitor(Inbox())
    private let store: Store
    private let registry: ReplicationRegistry
    private let fetches: FetchRegistry
    private let presence: PresenceRegistry
    private let unreachable: UnreachableAddresses
    let transports: [any PeerTransport]
    /// The addresses that were last proposed to the transports.
    let proposed = Mutex<[[UInt8]: [PeerRecord.Address]]>([:])
    private let thread = Mutex<Thread?>(nil)
    private let limits: ReplicatorLimits
    private let hubLog: SharedHubLog?
    private let receiveLimit: ReceiveLimit
    private let evaluationStop = EvaluationStop()
    private let busyPoll: BusyPoll
    /// Maximum number of documents in a job that runs on the previous writer's thread.
    private static let maximumServed = 64

    init(
        _ store: Store, _ registry: ReplicationRegistry, _ fetches: FetchRegistry,
        _ presence: PresenceRegistry, _ unreachable: UnreachableAddresses,
        _ limits: ReplicatorLimits, _ configuration: PeerConfiguration
    ) {
        transports = configuration.transports
        hubLog = configuration.hubLog
        busyPoll = BusyPoll(microseconds: configuration.busyPollMicroseconds)
        self.limits = limits
        receiveLimit = ReceiveLimit(limits.unwritten)
        self.unreachable = unreachable
        self.presence = presence
        self.store = store
        self.fetches = fetches
        self.registry = registry
    }

    func start(_ identity: Replicator.Identity) throws {
        let events = HubLogEvents(store.queries.log) { [weak self] in self?.post(.hub($0)) }
        try hubLog?.log.start(events)
        do throws(ThreadRefused) {
            let thread = try Thread(name: "sheaf-peer") { [self] in run(identity) }
            self.thread.withLock { $0 = thread }
        } catch {
            hubLog?.log.stop()
            throw StoreError(error)
        }
        // The closure captures only the inbox: the log's thread must not be the last to release a
        // store.
        let inbox = inbox
        store.queries.documents.store.onPublishingToPeers { Self.recordPublished(to: inbox) }
    }

    /// Ends all connections and the thread; returns when the thread has ended.
    func stop() {
        beginStopping()
        thread.withLock { $0 }?.join()
    }

    /// Begins to end all connections and the thread, which then releases the store.
    func beginStopping() {
        store.queries.documents.store.onPublishingToPeers(nil)
        evaluationStop.set()
        inbox.withLock { $0.isStopping = true }
        inbox.broadcast()
    }

    func post(_ event: Event) {
        let isOver = inbox.withLock { inbox in
            if !inbox.isOver { inbox.append(event) }
            return inbox.isOver
        }
        guard !isOver else { return refuse(event) }
        inbox.signal()
    }

    /// Posts received bytes, and stops reading from the connection while too many are not written.
    func receive(_ bytes: [UInt8], on number: UInt64, from connection: any PeerConnection) {
        receiveLimit.recordReceived(bytes.count, on: number, from: connection)
        post(.received(number, bytes))
    }

    private func refuse(_ event: Event) {
        switch event {
        case .request(let answer): answer(nil)
        // The gate admitted the job after the thread had ended; leaving it admits the next writer.
        case .entered: store.leave()
        default: break
        }
    }

    private static func recordPublished(to inbox: Monitor<Inbox>) {
        let isNew = inbox.withLock { inbox in
            defer { inbox.hasPublished = true }
            return !inbox.hasPublished
        }
        if isNew { inbox.signal() }
    }

    // MARK: The thread

    private func run(_ identity: Replicator.Identity) {
        let replicator = Replicator(
            store.queries, identity, attachments: store.attachments, limits: limits,
            evaluationStop: evaluationStop, random: { OperatingSystem.randomInteger() })
        var connections: [UInt64: OpenConnection] = [:]
        hubLog?.begin(replicator, store.queries.log)
        var outdated = Outdated()
        while true {
            let work = inbox.wait(
                until: replicator.deadline, polling: busyPoll, while: \.isEmpty
            ) { inbox in
                defer {
                    inbox.events = []
                    inbox.hasPublished = false
                }
                return inbox
            }
            let now = Clock.system.monotonicNanoseconds()
            for event in work.events {
                // The answer to a request must not precede the updates of earlier events.
                if case .request = event { publish(&outdated, of: replicator) }
                handle(event, replicator, &connections, &outdated, at: now)
            }
            if work.hasPublished { replicator.processPublished(at: now) }
            replicator.tick(at: now)
            if work.isStopping { replicator.stop() }
            perform(replicator, &connections, &outdated)
            publish(&outdated, of: replicator)
            guard !work.isStopping else { break }
        }
        hubLog?.log.stop()
        for open in connections.values { open.connection.close(because: "the peer stops") }
        let late = inbox.withLock { inbox in
            inbox.isOver = true
            defer { inbox.events = [] }
            return inbox.events
        }
        for event in late { refuse(event) }
        _ = store.queries.documents.setPeerFeedRecording(false)
    }

    private func handle(
        _ event: Event, _ replicator: Replicator, _ connections: inout [UInt64: OpenConnection],
        _ outdated: inout Outdated, at now: UInt64
    ) {
        switch event {
        case .connected(let number, let connection):
            let remote = connection.remote
            let traffic = ConnectionTraffic(with: remote.key.bytes)
            connections[number] = OpenConnection(connection: connection, traffic: traffic)
            registry.record(traffic, ofConnection: number)
            replicator.connect(
                number, expecting: remote.key.bytes, rights: remote.rights,
                own: connection.ownRights,
                connection.kind, from: remote.address, at: now)
            presence.announce(.connected(remote))
        case .received(let number, let bytes):
            connections[number]?.traffic.recordReceived(bytes.count)
            bytes.span.withUnsafeBytes { replicator.receive($0, on: number, at: now) }
            receiveLimit.recordProcessed(bytes.count, unwritten: replicator.unwrittenLength)
        case .closed(let number, let reason):
            replicator.disconnect(number, .lost(reason))
        case .denied(let remote, let reason):
            replicator.deny(remote.key.bytes, at: remote.address, because: reason)
        case .unreachableChanged: update(presence, of: replicator)
        case .written(let outcome):
            replicator.handleOutcome(outcome)
            receiveLimit.recordProcessed(unwritten: replicator.unwrittenLength)
        case .entered(let job): write(job)
        case .subscribed(let queries): replicator.subscribe(queries)
        case .fetch(let id): replicator.fetch(id, at: now)
        case .cancelFetch(let id): replicator.cancelFetch(id)
        case .stopConnections: replicator.stop()
        case .presented(let name, let metadata): replicator.present(name: name, metadata: metadata)
        case .hub(let event): replicator.receive(event, at: now)
        case .addressesChanged: publishAddresses(of: replicator)
        case .request(let answer):
            // The caller may have committed before; the answer must include that commit.
            replicator.processPublished(at: now)
            answer(replicator)
        }
        perform(replicator, &connections, &outdated)
    }

    private func perform(
        _ host: Replicator, _ connections: inout [UInt64: OpenConnection],
        _ outdated: inout Outdated
    ) {
        var refusals: [[UInt8]: PeerRefusals] = [:]
        var refused: [RefusedWrite] = []
        for effect in host.drainEffects() {
            switch effect {
            case .send(let number, let bytes):
                guard let open = connections[number] else { continue }
                open.traffic.recordSent(bytes.count)
                open.connection.send(bytes)
            // `ended` follows, and names the side that closed the connection.
            case .close: break
            case .ended(let number, let reason):
                guard let open = connections.removeValue(forKey: number) else { continue }
                registry.record(nil, ofConnection: number)
                receiveLimit.remove(number)
                open.connection.close(because: "\(reason)")
                presence.announce(.disconnected(open.connection.remote, reason: "\(reason)"))
            case .write(let job): enter(job)
            case .hub(let effect): hubLog?.log.perform(effect)
            case .fetched(let id, let update): fetches.record(id, update)
            case .statusChanged: outdated.hasStatus = true
            case .presenceChanged: outdated.hasPresence = true
            case .clockWarning(let key, let sentences):
                store.queries.log?.write(
                    .warning, "the clock of a peer: \(sentences.joined(separator: "; "))",
                    ["peer": PeerKey(unchecked: key).description])
            case .keyContested(let conflict): recordEvent(PeerKeyConflict(conflict))
            case .refusalsChanged(let key, let all, let new):
                refusals[key] = all
                refused += new
            }
        }
        if !refusals.isEmpty { update(registry, of: host, refusals) }
        if !refused.isEmpty { record(refused) }
    }

    /// Publishes the states that are outdated, once for all events of an iteration.
    private func publish(_ outdated: inout Outdated, of replicator: Replicator) {
        if outdated.hasStatus { update(registry, of: replicator, [:]) }
        if outdated.hasPresence {
            update(presence, of: replicator)
            proposeAddresses(of: replicator)
        }
        outdated = Outdated()
    }

    private func update(
        _ registry: ReplicationRegistry, of replicator: Replicator,
        _ refusals: [[UInt8]: PeerRefusals]
    ) {
        registry.update(
            replicator.drainChangedStatuses(), refusals,
            at: store.queries.documents.store.options.clock.wallMilliseconds())
    }

    private func update(_ presence: PresenceRegistry, of replicator: Replicator) {
        presence.update(
            replicator.reachablePeers,
            disconnected: replicator.disconnectedPeers(unreachable: unreachable.all))
    }

    private func record(_ refused: [RefusedWrite]) {
        for (peer, writes) in Dictionary(grouping: refused, by: \.peer) {
            guard let first = writes.first else { continue }
            store.queries.log?.write(
                .warning, "a peer refuses local writes",
                [
                    "peer": peer.description, "documents": "\(writes.count)",
                    "collection": first.collection.shortened,
                    "id": first.documentID.json.shortened,
                    "reason": "\(first.reason)",
                ])
        }
        registry.announce(refused)
    }

    private func recordEvent(_ conflict: PeerKeyConflict) {
        store.queries.log?.write(.error, "\(conflict)")
        presence.record(conflict)
    }

    // MARK: Writing

    /// Runs a job as soon as the write gate admits it.
    private func enter(_ job: WriteJob) {
        if store.gate.withLock({ $0.enter() }) { return write(job) }
        let number = store.lastNumber.add(1, ordering: .relaxed).newValue
        // The closure retains this object until the gate admits the job, so that the gate is left
        // even after a stop.
        let wake: @Sendable (WriteGate.Outcome) -> Void = { [self] outcome in
            if case .entered = outcome { post(.entered(job)) }
        }
        let serve: @Sendable () -> Bool = { [self] in
            self.serve(job)
            return true
        }
        let isShort = job.documentCount <= Self.maximumServed
        let waiter = WriteGate.Waiter(
            number: number, serve: isShort ? serve : nil, wake: wake)
        let outcome = store.gate.withLock { $0.wait(waiter) }
        if case .entered? = outcome { write(job) }
    }

    private func write(_ job: WriteJob) {
        let commit = run(job)
        store.leave()
        guard let commit, let log = try? store.log else { return }
        // With no other work pending, the thread may block until the disk has synced.
        log.whenDurable(commit, mayBlock: inbox.withLock { $0.isEmptyBut(1) }) { _ in }
    }

    /// Runs a job on the thread of the previous writer.
    private func serve(_ job: WriteJob) {
        guard let commit = run(job), let log = try? store.log else { return }
        log.whenDurable(commit) { _ in }
    }

    /// Runs a job, posts its outcome, and returns its last commit.
    ///
    /// The caller must make the commit durable, which also publishes it.
    private func run(_ job: WriteJob) -> CommitID? {
        // Skipping the job is safe: unacknowledged documents are sent again after a restart.
        guard !evaluationStop.isSet, let log = try? store.log else { return nil }
        let outcome = job.run(store.queries) { batch throws(StorageError) in
            try log.append(batch)
        }
        post(.written(outcome))
        return outcome.lastCommit
    }
}

extension WriteJob {
    var documentCount: Int {
        steps.reduce(0) { $0 + $1.documents.count }
    }
}
