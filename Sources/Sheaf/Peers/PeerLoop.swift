import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync
import Synchronization

/// The thread of a peer: it tells the host what happens, and does what the host wants done.
///
/// Others only leave word with it, so nobody waits for a peer, be he a writer or a transport.
final class PeerLoop: Sendable {
    enum Event: Sendable {
        case connected(UInt64, any PeerConnection)
        case received(UInt64, [UInt8])
        case closed(UInt64, reason: String)
        /// A connection was refused on this side.
        case denied(PeerIdentity, String)
        /// The list of addresses that cannot be reached has changed.
        case unreachableChanged
        case written(WriteJob.Outcome)
        /// It is the peer's turn to write.
        case entered(WriteJob)
        case subscribed([SubscriptionQuery])
        case fetch(AttachmentID)
        case cancelFetch(AttachmentID)
        case stopConnections
        /// The peer says this of itself to others from now on.
        case presented(name: String, metadata: [UInt8])
        /// Somebody wants to know something; there is no host where the peer has stopped.
        case asked(@Sendable (SyncHost?) -> Void)
    }

    private struct Inbox: Sendable {
        var events: [Event] = []
        var hasPublished = false
        var isStopping = false
        /// Nobody looks into it any more.
        var isOver = false

        /// Appends an event; of subscriptions only the newest list counts.
        mutating func append(_ event: Event) {
            if case .subscribed = event, case .subscribed? = events.last { events.removeLast() }
            events.append(event)
        }

        var isEmpty: Bool { isEmptyBut(0) }

        /// Whether there is nothing to be done but so many events.
        func isEmptyBut(_ count: Int) -> Bool {
            events.count <= count && !hasPublished && !isStopping
        }
    }

    private let inbox = Monitor(Inbox())
    private let store: Store
    private let board: SyncBoard
    private let fetches: FetchBoard
    private let presence: PresenceBoard
    private let unreachable: UnreachableAddresses
    private let thread = Mutex<Thread?>(nil)
    private let lengths: SyncHost.Lengths
    private let evaluationStop = EvaluationStop()
    private let jobs = Atomic<UInt64>(0)
    /// Jobs with more documents are not done on the thread of whoever wrote before.
    private static let mostServed = 64

    init(
        _ store: Store, _ board: SyncBoard, _ fetches: FetchBoard, _ presence: PresenceBoard,
        _ unreachable: UnreachableAddresses, _ lengths: SyncHost.Lengths
    ) {
        self.lengths = lengths
        self.unreachable = unreachable
        self.presence = presence
        self.store = store
        self.fetches = fetches
        self.board = board
    }

    func start(_ identity: SyncHost.Identity) throws(StoreError) {
        do throws(ThreadRefused) {
            let thread = try Thread(name: "sheaf-peer") { [self] in run(identity) }
            self.thread.withLock { $0 = thread }
        } catch {
            throw StoreError(
                .failed, "the system has no room for a thread (error \(error.code))",
                hint: "end some threads, and try again")
        }
        // The inbox, and not the loop: the log's thread must not be the last to release a store.
        let inbox = inbox
        store.queries.documents.store.onPublishingToPeers { Self.notePublished(to: inbox) }
    }

    /// Ends all conversations, and the thread; returns when the thread has ended.
    func stop() {
        beginStopping()
        thread.withLock { $0 }?.join()
    }

    /// Ends all conversations, and the thread, which releases the store; waits for neither.
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

    private func refuse(_ event: Event) {
        switch event {
        case .asked(let answer): answer(nil)
        // The turn to write came after the end: the next writer has it.
        case .entered: store.leave()
        default: break
        }
    }

    private static func notePublished(to inbox: Monitor<Inbox>) {
        let isNew = inbox.withLock { inbox in
            defer { inbox.hasPublished = true }
            return !inbox.hasPublished
        }
        if isNew { inbox.signal() }
    }

    // MARK: The thread

    private func run(_ identity: SyncHost.Identity) {
        let host = SyncHost(
            store.queries, identity, attachments: store.attachments, lengths: lengths,
            evaluationStop: evaluationStop, random: { OperatingSystem.randomInteger() })
        var connections: [UInt64: any PeerConnection] = [:]
        while true {
            let work = inbox.wait(until: host.deadline, while: \.isEmpty) { inbox in
                defer {
                    inbox.events = []
                    inbox.hasPublished = false
                }
                return inbox
            }
            let now = Clock.system.monotonicNanoseconds()
            for event in work.events { take(event, host, &connections, at: now) }
            if work.hasPublished { host.notePublished() }
            host.tick(at: now)
            if work.isStopping { host.stop() }
            perform(host, &connections)
            guard !work.isStopping else { break }
        }
        for connection in connections.values { connection.close(because: "the peer stops") }
        let late = inbox.withLock { inbox in
            inbox.isOver = true
            defer { inbox.events = [] }
            return inbox.events
        }
        for event in late { refuse(event) }
        _ = store.queries.documents.wantPeerFeed(false)
    }

    private func take(
        _ event: Event, _ host: SyncHost, _ connections: inout [UInt64: any PeerConnection],
        at now: UInt64
    ) {
        switch event {
        case .connected(let number, let connection):
            connections[number] = connection
            let remote = connection.remote
            host.connect(
                number, expecting: remote.key, rights: remote.rights, own: connection.ownRights,
                connection.kind, from: remote.address, at: now)
            presence.announce(.connected(remote))
        case .received(let number, let bytes):
            bytes.span.withUnsafeBytes { host.receive($0, on: number, at: now) }
        case .closed(let number, let reason):
            host.disconnect(number, .lost(reason))
        case .denied(let remote, let reason):
            host.deny(remote.key, at: remote.address, because: reason)
        case .unreachableChanged: update(presence, of: host)
        case .written(let outcome): host.noteWritten(outcome)
        case .entered(let job): write(job)
        case .subscribed(let queries):
            do throws(QueryError) { try host.subscribe(queries) } catch {
                store.queries.log?.write(.error, "a subscription cannot be sent: \(error.message)")
            }
        case .fetch(let id): host.fetch(id, at: now)
        case .cancelFetch(let id): host.cancelFetch(id)
        case .stopConnections: host.stop()
        case .presented(let name, let metadata): host.present(name: name, metadata: metadata)
        case .asked(let answer):
            // Who has just written asks about that.
            host.notePublished()
            answer(host)
        }
        perform(host, &connections)
    }

    private func perform(
        _ host: SyncHost, _ connections: inout [UInt64: any PeerConnection]
    ) {
        var (hasNews, hasNewPresence) = (false, false)
        var refusals: [[UInt8]: PeerRefusals] = [:]
        var refused: [RefusedWrite] = []
        for effect in host.takeEffects() {
            switch effect {
            case .send(let number, let bytes): connections[number]?.send(bytes)
            // `ended` follows, with the side that has closed the connection.
            case .close: break
            case .ended(let number, let reason):
                guard let connection = connections.removeValue(forKey: number) else { continue }
                connection.close(because: "\(reason)")
                presence.announce(.disconnected(connection.remote, reason: "\(reason)"))
            case .write(let job): enter(job)
            case .fetched(let id, let news): fetches.note(id, news)
            case .statusChanged: hasNews = true
            case .presenceChanged: hasNewPresence = true
            case .clockWarning(let key, let sentences):
                store.queries.log?.write(
                    .warning, "the clock of a peer: \(sentences.joined(separator: "; "))",
                    ["peer": PeerKey(unchecked: key).description])
            case .keyContested(let rival): note(PeerKeyConflict(rival))
            case .refusalsChanged(let key, let all, let new):
                refusals[key] = all
                refused += new
            }
        }
        if hasNews || !refusals.isEmpty {
            board.update(
                host.allStatuses, refusals,
                at: store.queries.documents.store.options.clock.wallMilliseconds())
        }
        if hasNewPresence { update(presence, of: host) }
        if !refused.isEmpty { note(refused) }
    }

    private func update(_ presence: PresenceBoard, of host: SyncHost) {
        presence.update(
            host.reachablePeers,
            disconnected: host.disconnectedPeers(unreachable: unreachable.all))
    }

    private func note(_ refused: [RefusedWrite]) {
        for (peer, writes) in Dictionary(grouping: refused, by: \.peer) {
            guard let first = writes.first else { continue }
            store.queries.log?.write(
                .warning, "a peer does not take documents that were written here",
                [
                    "peer": peer.description, "documents": "\(writes.count)",
                    "collection": first.collection.shortened,
                    "id": first.documentID.json.shortened,
                    "reason": "\(first.reason)",
                ])
        }
        board.announce(refused)
    }

    private func note(_ conflict: PeerKeyConflict) {
        store.queries.log?.write(.error, "\(conflict)")
        presence.note(conflict)
    }

    // MARK: Writing

    /// Writes when it is the peer's turn.
    private func enter(_ job: WriteJob) {
        if store.gate.withLock({ $0.enter() }) { return write(job) }
        let number = store.numbers.add(1, ordering: .relaxed).newValue
        // Retains the loop until its turn comes, so that the turn is passed on even after a stop.
        let wake: @Sendable (WriteGate.Outcome) -> Void = { [self] outcome in
            if case .entered = outcome { post(.entered(job)) }
        }
        let serve: @Sendable () -> Bool = { [self] in
            self.serve(job)
            return true
        }
        let isShort = job.documentCount <= Self.mostServed
        let waiter = WriteGate.Waiter(
            number: number, serve: isShort ? serve : nil, wake: wake)
        let outcome = store.gate.withLock { $0.wait(waiter) }
        if case .entered? = outcome { write(job) }
    }

    private func write(_ job: WriteJob) {
        let commit = run(job)
        store.leave()
        guard let commit, let log = try? store.log else { return }
        // Where nobody waits for this thread, it may wait for the disk.
        if inbox.withLock({ $0.isEmptyBut(1) }) {
            log.makeDurable(commit)
        } else {
            log.whenDurable(commit) { _ in }
        }
    }

    /// Writes on the thread of whoever wrote before.
    private func serve(_ job: WriteJob) {
        guard let commit = run(job), let log = try? store.log else { return }
        log.whenDurable(commit) { _ in }
    }

    /// Says what was written; somebody has to make it durable, and when that is done, it is published.
    private func run(_ job: WriteJob) -> CommitID? {
        // What is not acknowledged is sent again to a peer that is opened again.
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
