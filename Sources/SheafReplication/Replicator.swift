package import SheafAttachments
package import SheafBytes
package import SheafDocument
import SheafEngine
package import SheafQuery
package import SheafStatements
import SheafStorage
package import SheafSync
package import SheafSystem
package import SheafTransport

/// The replicator: the state machine that exchanges documents with all connected peers.
///
/// It has no thread, socket or clock: the caller passes events and the time, and performs the
/// returned effects. One thread at a time may use it. A `WriteJob` writes received documents; its
/// outcome is an event.
package final class Replicator {
    /// The identity of this peer.
    package struct Identity: Sendable {
        package let database: Hello.DatabaseID
        package let peerKey: [UInt8]
        package let isServer: Bool
        package var name: String

        package init(
            database: Hello.DatabaseID, peerKey: [UInt8], isServer: Bool = false, name: String = ""
        ) {
            self.database = database
            self.peerKey = peerKey
            self.isServer = isServer
            self.name = name
        }
    }

    /// Size limits of the replicator.
    package struct Lengths: Sendable {
        /// Target number of bytes in one part of a long batch.
        package var part = SyncSession.segmentTarget
        /// Number of bytes of unwritten batches kept in memory per peer; the rest is on disk.
        package var inMemory = 20 << 20
        /// Number of bytes beyond which a batch is split, which bounds the memory for writing it.
        package var step = 256 << 20

        /// Evaluation units per iteration of the replication thread, shared by all peers.
        package var evaluated = SyncLimits.evaluationUnitsPerTurn

        /// Maximum number of differing documents requested at a time.
        package var wanted = SyncLimits.wantedDocuments

        /// Maximum number of changed documents queued for a peer with limited rights.
        ///
        /// Beyond it, or beyond `limitedChangeBytes` bytes of keys and former states, the peers
        /// reconcile.
        package var limitedChanges = 1 << 16
        package var limitedChangeBytes = 16 << 20

        /// Maximum number of attachment bytes kept for each peer with limited rights.
        package var receivedAttachments = 1 << 30

        package init() {}
    }

    /// An action that the replication thread must perform.
    package enum Effect: Sendable {
        case send(connection: UInt64, [UInt8])
        /// Closes a connection once everything queued before has been sent.
        case close(connection: UInt64, CloseMessage)
        /// A connection has ended; the replication thread closes it if it is still open.
        case ended(connection: UInt64, CloseReason)
        case write(WriteJob)
        /// The state of an attachment fetch has changed.
        case fetched(AttachmentID, FetchUpdate)
        /// The result of `allStatuses` has changed.
        case statusChanged
        /// `reachablePeers` or `disconnectedPeers(unreachable:)` has changed.
        case presenceChanged
        /// The clock of a peer deviates, or documents are quarantined for it; the texts describe
        /// why.
        case clockWarning(peer: [UInt8], [String])
        /// Another peer, which publishes this record, has the key of this one.
        case keyContested(PeerRecord)
        /// The refusals of a peer have changed: the complete set and the new ones.
        case refusalsChanged(peer: [UInt8], PeerRefusals, new: [RefusedWrite])
    }

    package let queries: QueryEngine
    var identity: Identity
    /// The attachment store; nil if attachments are not replicated.
    let attachments: AttachmentStore?
    /// Random ID of the log, drawn for each replicator; a cursor is valid for one ID.
    package let log: XXH3.Hash128
    private let random: () -> UInt64
    let lengths: Lengths
    package var connections: [UInt64: Connection] = [:]
    var statuses: [[UInt8]: Status] = [:]
    private var effects: [Effect] = []

    /// The time of the last event.
    var now: UInt64 = 0
    /// The sharing scopes of the collections.
    var scopes: SyncScopes
    /// The newest commit when the scopes were last widened; older cursors may lack documents.
    var widenedThrough: CommitID?
    /// The rights of peers at their last connection, by peer key.
    var authorizations: [[UInt8]: Authorization] = [:]

    /// The subscription of this peer.
    var subscriptions = Subscriptions()
    var news: News
    var rateLimiters = RateLimiters()
    /// Evaluation budgets, by peer key.
    var budgets: [[UInt8]: Budget] = [:]
    /// Flag that cancels query evaluation when the peer stops.
    let evaluationStop: EvaluationStop
    /// Evaluation units left in this iteration for the queries of all peers.
    package let slice: EvaluationSlice
    /// Number of the connection on which the last slice was used up.
    var lastSlicedConnection: UInt64 = 0
    var files = Files()
    var repairs: ReadRepairTable
    /// The state of peers with limited rights, by peer key.
    var limitedPeers: [[UInt8]: LimitedPeer] = [:]
    /// Received documents quarantined for stamps too far ahead of the local clock.
    package var quarantine = QuarantineTable()
    var clockWarnings = ClockWarnings()
    /// Local documents that peers refuse.
    var refusals = RefusalTable()
    package internal(set) var statistics = SyncStatistics()
    /// Peers and connections known through gossip.
    var mesh: LinkStateDatabase
    /// Log IDs under which peers have connected, by peer key.
    var openings: [[UInt8]: Openings] = [:]
    /// Whether some peers may still have the former site of this store.
    var mayReportSite = false

    /// The state of one connection.
    package final class Connection {
        let number: UInt64
        /// Random number of the connection, sent in the local hello.
        let nonce: UInt64
        package let address: String
        let connectedAt: UInt64
        /// The peer key proven by the transport.
        let expectedKey: [UInt8]?
        var session: SyncSession
        let rights: PeerRights?
        let ownRights: PeerRights?
        package let kind: PeerConnectionKind
        /// The time at which the hello of the peer was received.
        var greetedAt: UInt64?
        var receiver = Receiver()
        var sender: Sender?
        /// The received subscription that is not active yet.
        var delayed: Delayed?
        var files = AttachmentExchange()
        /// Translation of local name numbers to those of the connection.
        var sentNames = NameTranslation()
        /// Names that occurred once in documents sent to a peer with limited rights.
        var seenNames: Set<[UInt8]> = []
        /// Translation of the peer's name numbers to local ones.
        var nameTranslation = NameTranslation()
        /// Matcher of the documents that the peer may read; nil if it may read all.
        var readable: SubscriptionMatcher?
        /// Number reserved for the next batch if its snapshot precedes the last subscription.
        var reservedStep: UInt64?
        /// Meter of the evaluations of `readable`.
        let readMeter: EvaluationMeter
        /// The read rule as queries, and a matcher of its part that depends on `_id` alone.
        var readRule: [SubscriptionQuery]?
        var readableByID: SubscriptionMatcher?
        /// Number of documents sent, minus those that the peer has refused.
        var refusableCount: UInt64 = 0
        /// Matcher of the documents that this peer may write remotely; nil if it may write all.
        var sendable: SubscriptionMatcher?
        /// The site in the peer's hello.
        var site = Site.initial
        /// Whether the peer has reported a site that differs from the one in its hello.
        var hasNewSite = false
        /// Periods without a write by the peer's site.
        var pauses: [WritePause] = []
        /// Write pauses exchanged with the peer, by site, and the version of those last reported.
        var reportedPauses: [Site: [WritePause]] = [:]
        var pausesVersion: DocumentEngine.PausesVersion?
        /// The local site that was last reported to the peer.
        var reportedSite = Site.initial
        /// Queries for the documents that the peer may write here; nil if it may write all.
        var writable: [SubscriptionQuery]?

        /// Whether the peer may read only some documents.
        var isLimited: Bool { readable != nil }
        /// Whether work for the peer remains for the next iteration.
        var isUnfinished: Bool {
            sender?.hasMore == true || sender?.preparation != nil || hasUnsettled
                || sender?.limited.isJudging == true || files.isCheckingProofs
        }

        package init(
            _ number: UInt64, nonce: UInt64, at address: String, _ session: SyncSession,
            _ rights: PeerRights?,
            own ownRights: PeerRights?, _ kind: PeerConnectionKind, expecting key: [UInt8]?,
            until stop: EvaluationStop, at now: UInt64
        ) {
            readMeter = .unlimited(stop: stop)
            (self.address, connectedAt, expectedKey) = (address, now, key)
            self.nonce = nonce
            self.kind = kind
            self.ownRights = ownRights
            self.number = number
            self.session = session
            self.rights = rights
        }
    }

    package init(
        _ queries: QueryEngine, _ identity: Identity, attachments: AttachmentStore? = nil,
        lengths: Lengths = Lengths(), maximumRepairs: Int = ReadRepairTable.maximumDocuments,
        evaluationStop: EvaluationStop = EvaluationStop(), random: @escaping () -> UInt64
    ) {
        self.evaluationStop = evaluationStop
        slice = EvaluationSlice(lengths.evaluated)
        self.lengths = lengths
        repairs = ReadRepairTable(most: maximumRepairs)
        self.attachments = attachments
        self.queries = queries
        self.identity = identity
        self.random = random
        log = XXH3.Hash128(low: random(), high: random())
        news = News(queries.documents)
        scopes = queries.parameters.values.syncScopes
        mesh = Self.isolatedDatabase(identity, queries, salt: random())
    }

    /// Removes and returns the pending effects, in the order in which to perform them.
    package func drainEffects() -> [Effect] {
        performPresenceActions()
        for (key, all, new) in refusals.drainChanges() {
            emit(.refusalsChanged(peer: key, all, new: new))
        }
        defer { effects = [] }
        return effects
    }

    func emit(_ effect: Effect) {
        effects.append(effect)
    }

    // MARK: Events

    /// Adds a connection.
    ///
    /// `key` is the peer key proven by the transport, `rights` are the peer's rights at this store,
    /// and `ownRights` are this peer's rights at the remote store.
    package func connect(
        _ number: UInt64, expecting key: [UInt8]? = nil, rights: PeerRights? = nil,
        own ownRights: PeerRights? = nil, _ kind: PeerConnectionKind = .other,
        from address: String = "", at now: UInt64
    ) {
        let site = queries.documents.siteReport(through: news.snapshot.log.commit)
        let hello = Hello(
            database: identity.database, peerKey: identity.peerKey, site: site.site,
            log: log, nonce: random(),
            wallMilliseconds: queries.options.clock.wallMilliseconds(),
            pauses: site.pauses,
            isServer: identity.isServer, name: identity.name)
        let session = SyncSession(hello, expecting: key, at: now)
        let connection = Connection(
            number, nonce: hello.nonce, at: address, session, rights, own: ownRights, kind,
            expecting: key,
            until: evaluationStop, at: now)
        connection.reportedSite = site.site
        connections[number] = connection
        handle(connection)
    }

    package func receive(_ bytes: UnsafeRawBufferPointer, on number: UInt64, at now: UInt64) {
        self.now = now
        guard let connection = connections[number] else { return }
        connection.session.append(bytes, at: now)
        while connection.session.processFrame() { handle(connection) }
        handle(connection)
        processAttachments()
    }

    package func tick(at now: UInt64) {
        applyScopes()
        self.now = now
        for connection in orderedConnections {
            connection.session.tick(at: now)
            checkAnnouncementTimeout(connection)
            applyRateLimits(connection)
            sendPositionIfDue(connection)
            handle(connection)
        }
        continueSending()
        reportNewSite()
        checkQuarantine()
        tickFiles()
        mesh.tick(at: now)
    }

    /// The time at which `tick(at:)` is due next; nil if no timer is pending.
    package var deadline: UInt64? {
        if connections.values.contains(where: \.isUnfinished) { return now }
        let deadlines = connections.values.compactMap { connection in
            [
                // Announcements do not time out during a write: the job may contain their
                // documents.
                connection.session.deadline,
                connection.receiver.isWriting ? nil : connection.receiver.announced.deadline,
                connection.receiver.delayedSubscription?.turn,
                connection.delayed?.turn, connection.sender?.echoDue,
            ].compactMap { $0 }.min()
        }
        return (deadlines + [filesDeadline, mesh.deadline, quarantineDeadline].compactMap { $0 })
            .min()
    }

    /// Processes commits that have become visible to readers.
    package func processPublished() {
        news.update(queries.documents)
        // The scopes are updated first: they decide which documents may be sent.
        applyScopes()
        requestEvicted()
        collectChangesForLimitedPeers()
        for connection in orderedConnections {
            acknowledge(connection)
            checkAnnounced(connection)
            queueDurableRepairs(connection)
            reviewLacking(connection)
            sendChanges(connection)
            handle(connection)
        }
        reportNewSite()
        news.discard(before: connections.values.compactMap { $0.sender?.sent }.min())
        checkFiles()
        processAttachments()
    }

    /// All connections, ordered by number so that runs are deterministic.
    var orderedConnections: [Connection] { connections.values.sorted { $0.number < $1.number } }

    // MARK: Session effects

    func handle(_ connection: Connection) {
        // Handling an effect may append further ones, so frames are sent in the order of their
        // creation.
        while let effect = connection.session.nextEffect() { handle(effect, of: connection) }
    }

    private func handle(_ effect: SyncSession.Effect, of connection: Connection) {
        switch effect {
        case .send(let bytes): emit(.send(connection: connection.number, bytes))
        case .end(let closeMessage):
            logContested(closeMessage, on: connection)
            emit(.close(connection: connection.number, closeMessage))
            disconnect(
                connection.number,
                .ended(closeMessage, isRemote: connection.session.isEndedRemotely))
        case .greeted(let hello): greet(connection, hello)
        case .listOwn(let generation): listOwn(connection, generation)
        case .apply(let step): apply(step, from: connection)
        case .announced(let message): announced(message, on: connection)
        case .announceOnly: announceFromNowOn(on: connection)
        case .subscribed(let request): subscribed(connection, request)
        case .listMatches: listMatches(connection, in: news.snapshot)
        case .wanted(let documents): prepareWanted(connection, documents, in: news.snapshot)
        case .acknowledged(let commit): acknowledged(connection, commit)
        case .roomToSend: announceChanges(connection)
        case .quarantine(let notice): recordQuarantined(notice, on: connection)
        case .refused(let notice): handleRefusal(notice, on: connection)
        case .differing(let addresses): recordDiffering(addresses, on: connection)
        case .forgotten(let message): recordForgotten(message, on: connection)
        case .changedSite(let site): record(site, of: connection)
        case .pauses(let known): addPauses(known, from: connection)
        case .sought(let message): sought(message, on: connection)
        case .offered(let message): offered(message, on: connection)
        case .fetched(let part, let bytes): fetched(part, bytes, on: connection)
        case .proofAsked(let token): handleProofRequest(token, on: connection)
        case .proven(let token): confirmed(token, on: connection)
        case .presence(let message): mesh.receive(message, on: connection.number, at: now)
        case .presenceAcknowledged: mesh.acknowledged(on: connection.number)
        }
    }

    private func greet(_ connection: Connection, _ hello: Hello) {
        guard replaceConnection(connection, hello), prepareRights(of: connection) else { return }
        makeRoom(forPeer: hello.peerKey)
        recordAuthorization(connection, hello)
        record(connected: connection, hello)
        recordSite(hello, on: connection)
        compareClock(of: hello, on: connection)
        mesh.opened(connection.number, to: hello.peerKey, kind: connection.kind.rawValue, at: now)
        renewSubscription(connection)
        sendAttachmentRequests(connection)
        checkTokensSoon()
    }
}
