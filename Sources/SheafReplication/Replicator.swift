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
        case send(link: UInt64, [UInt8])
        /// Closes a connection once everything queued before has been sent.
        case close(link: UInt64, CloseMessage)
        /// A connection has ended; the replication thread closes it if it is still open.
        case ended(link: UInt64, CloseReason)
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
    var standings: [[UInt8]: Authorization] = [:]

    /// The subscription of this peer.
    var wishes = Wishes()
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
    var corrections: CorrectionTable
    /// The state of peers with limited rights, by peer key.
    var limitedPeers: [[UInt8]: LimitedPeer] = [:]
    /// Received documents quarantined for stamps too far ahead of the local clock.
    package var setAside = QuarantineTable()
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
        var spoken = NameTranslation()
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
            sender?.goesOn == true || sender?.preparation != nil || hasUnsettled
                || sender?.limited.isJudging == true || files.isCheckingProofs
        }

        package init(
            _ number: UInt64, drawn: UInt64, at address: String, _ session: SyncSession,
            _ rights: PeerRights?,
            own ownRights: PeerRights?, _ kind: PeerConnectionKind, expecting key: [UInt8]?,
            until stop: EvaluationStop, at now: UInt64
        ) {
            readMeter = .unlimited(stop: stop)
            (self.address, connectedAt, expectedKey) = (address, now, key)
            self.nonce = drawn
            self.kind = kind
            self.ownRights = ownRights
            self.number = number
            self.session = session
            self.rights = rights
        }
    }

    package init(
        _ queries: QueryEngine, _ identity: Identity, attachments: AttachmentStore? = nil,
        lengths: Lengths = Lengths(), mostCorrections: Int = CorrectionTable.maximumDocuments,
        evaluationStop: EvaluationStop = EvaluationStop(), random: @escaping () -> UInt64
    ) {
        self.evaluationStop = evaluationStop
        slice = EvaluationSlice(lengths.evaluated)
        self.lengths = lengths
        corrections = CorrectionTable(most: mostCorrections)
        self.attachments = attachments
        self.queries = queries
        self.identity = identity
        self.random = random
        log = XXH3.Hash128(low: random(), high: random())
        news = News(queries.documents)
        scopes = queries.parameters.values.syncScopes
        mesh = Self.lonelyMesh(identity, queries, salt: random())
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
        let link = Connection(
            number, drawn: hello.nonce, at: address, session, rights, own: ownRights, kind,
            expecting: key,
            until: evaluationStop, at: now)
        link.reportedSite = site.site
        connections[number] = link
        handle(link)
    }

    package func receive(_ bytes: UnsafeRawBufferPointer, on number: UInt64, at now: UInt64) {
        self.now = now
        guard let link = connections[number] else { return }
        link.session.append(bytes, at: now)
        while link.session.processFrame() { handle(link) }
        handle(link)
        processAttachments()
    }

    package func tick(at now: UInt64) {
        applyScopes()
        self.now = now
        for link in allLinks {
            link.session.tick(at: now)
            checkPatience(link)
            applyRateLimits(link)
            sendPositionIfDue(link)
            handle(link)
        }
        continueSending()
        reportNewSite()
        checkSetAside()
        tickFiles()
        mesh.tick(at: now)
    }

    /// The time at which `tick(at:)` is due next; nil if no timer is pending.
    package var deadline: UInt64? {
        if connections.values.contains(where: \.isUnfinished) { return now }
        let deadlines = connections.values.compactMap { link in
            [
                // Announcements do not time out during a write: the job may contain their
                // documents.
                link.session.deadline,
                link.receiver.isWriting ? nil : link.receiver.announced.deadline,
                link.receiver.delayedSubscription?.turn,
                link.delayed?.turn, link.sender?.echoDue,
            ].compactMap { $0 }.min()
        }
        return (deadlines + [filesDeadline, mesh.deadline, setAsideDeadline].compactMap { $0 })
            .min()
    }

    /// Processes commits that have become visible to readers.
    package func processPublished() {
        news.update(queries.documents)
        // The scopes are updated first: they decide which documents may be sent.
        applyScopes()
        requestEvicted()
        collectChangesForLimitedPeers()
        for link in allLinks {
            acknowledge(link)
            checkAnnounced(link)
            correctDurable(link)
            reviewLacking(link)
            sendChanges(link)
            handle(link)
        }
        reportNewSite()
        news.discard(before: connections.values.compactMap { $0.sender?.sent }.min())
        checkFiles()
        processAttachments()
    }

    /// All connections, ordered by number so that runs are deterministic.
    var allLinks: [Connection] { connections.values.sorted { $0.number < $1.number } }

    // MARK: Session effects

    func handle(_ link: Connection) {
        // Handling an effect may append further ones, so frames are sent in the order of their
        // creation.
        while let effect = link.session.nextEffect() { handle(effect, of: link) }
    }

    private func handle(_ effect: SyncSession.Effect, of link: Connection) {
        switch effect {
        case .send(let bytes): emit(.send(link: link.number, bytes))
        case .end(let farewell):
            logContested(farewell, on: link)
            emit(.close(link: link.number, farewell))
            disconnect(link.number, .ended(farewell, isRemote: link.session.isEndedRemotely))
        case .greeted(let hello): greet(link, hello)
        case .listOwn(let generation): listOwn(link, generation)
        case .apply(let step): apply(step, from: link)
        case .announced(let message): announced(message, on: link)
        case .announceOnly: announceFromNowOn(on: link)
        case .subscribed(let request): subscribed(link, request)
        case .listMatches: listMatches(link, in: news.snapshot)
        case .wanted(let documents): prepareWanted(link, documents, in: news.snapshot)
        case .acknowledged(let commit): acknowledged(link, commit)
        case .roomToSend: announceChanges(link)
        case .setAside(let notice): recordQuarantined(notice, on: link)
        case .refused(let notice): handleRefusal(notice, on: link)
        case .differing(let addresses): recordDiffering(addresses, on: link)
        case .forgotten(let message): recordForgotten(message, on: link)
        case .changedSite(let site): record(site, of: link)
        case .pauses(let known): addPauses(known, from: link)
        case .sought(let message): sought(message, on: link)
        case .offered(let message): offered(message, on: link)
        case .fetched(let part, let bytes): fetched(part, bytes, on: link)
        case .proofAsked(let token): handleProofRequest(token, on: link)
        case .proven(let token): confirmed(token, on: link)
        case .presence(let message): mesh.receive(message, on: link.number, at: now)
        case .presenceTaken: mesh.acknowledged(on: link.number)
        }
    }

    private func greet(_ link: Connection, _ hello: Hello) {
        guard replaceConnection(link, hello), prepareRights(of: link) else { return }
        makeRoom(forPeer: hello.peerKey)
        recordAuthorization(link, hello)
        record(connected: link, hello)
        recordSite(hello, on: link)
        compareClock(of: hello, on: link)
        mesh.opened(link.number, to: hello.peerKey, kind: link.kind.rawValue, at: now)
        renewSubscription(link)
        sendAttachmentRequests(link)
        checkTokensSoon()
    }
}
