package import SheafBytes
import SheafDocument
package import SheafQuery
import SheafStorage
package import SheafSync

/// What a peer does with all its connections: it asks for what its subscriptions want, and tells others
/// what they want.
///
/// A machine beside the store that it reads: it has no thread and no socket, and is told of time. One
/// thread at a time may use it. Somebody else writes for it (`WriteJob`), and tells it what came of that.
package final class SyncHost {
    /// Who this peer is.
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

    /// How much of a step there is at a time.
    package struct Lengths: Sendable {
        /// A part of a long step has about so many bytes.
        package var part = SyncSession.segmentTarget
        /// What came of steps that are not written yet, from one peer, takes about so many bytes of memory;
        /// the rest is on the disk.
        package var inMemory = 20 << 20
        /// A step that has more bytes is cut: nobody should need so much memory to write it at once.
        package var step = 256 << 20

        /// Units of evaluation in one turn, for all other peers together.
        package var evaluated = SyncLimits.evaluationUnitsPerTurn

        /// How many documents that differ are asked for at once.
        package var wanted = SyncLimits.wantedDocuments

        /// Maximum number of changed documents that wait for a peer with limited rights, and of bytes
        /// of their keys and former states; beyond either the peer compares.
        package var limitedChanges = 1 << 16
        package var limitedChangeBytes = 16 << 20

        /// Maximum number of bytes of attachments kept for others from each peer with limited rights.
        package var broughtAttachments = 1 << 30

        package init() {}
    }

    /// What somebody else has to do.
    package enum Effect: Sendable {
        case send(link: UInt64, [UInt8])
        /// To close a connection, once all before is sent.
        case close(link: UInt64, Farewell)
        /// A connection has ended; the loop closes it if it is still open.
        case ended(link: UInt64, CloseReason)
        case write(WriteJob)
        /// Something became of a file that was to be fetched.
        case fetched(AttachmentID, FetchNews)
        /// Something changed that `statuses` tells.
        case statusChanged
        /// `reachablePeers` or `disconnectedPeers(unreachable:)` has changed.
        case presenceChanged
        /// The clocks of this peer and another one differ, or documents are set aside for that; why.
        case clockWarning(peer: [UInt8], [String])
        /// Another peer has the key of this one, and says this of itself.
        case keyContested(PeerRecord)
        /// The refusals of a peer have changed: all of them, and the new ones.
        case refusalsChanged(peer: [UInt8], PeerRefusals, new: [RefusedWrite])
    }

    let queries: QueryEngine
    var identity: Identity
    /// The files that documents name; none where they are nobody's concern.
    let attachments: AttachmentStore?
    /// What tells this opening of the log from all others.
    package let log: XXH3.Hash128
    private let random: () -> UInt64
    let lengths: Lengths
    var links: [UInt64: Link] = [:]
    var statuses: [[UInt8]: Status] = [:]
    private var effects: [Effect] = []

    /// The time of the last event.
    var now: UInt64 = 0
    /// With whom collections are shared.
    var scopes: SyncScopes
    /// The newest commit when more was shared than before: who was told up to there may lack some of it.
    var widenedThrough: CommitID?
    /// What peers may, by their keys, when they were met last.
    var standings: [[UInt8]: Standing] = [:]

    /// What this peer subscribes to.
    var wishes = Wishes()
    var news: News
    var paces = Paces()
    /// What the queries of peers may still cost, by their keys.
    var budgets: [[UInt8]: Budget] = [:]
    /// What ends the evaluation of queries when the peer stops.
    let evaluationStop: EvaluationStop
    /// What the queries of all peers may cost in this turn.
    package let slice: EvaluationSlice
    /// The connection that the last slice ended with.
    var slicedLink: UInt64 = 0
    var files = Files()
    var corrections: CorrectionTable
    /// The state of peers with limited rights, by their keys.
    var limitedPeers: [[UInt8]: LimitedPeer] = [:]
    /// What peers have sent and is stamped too far ahead of the clock here.
    var setAside = SetAsideTable()
    var clockWarnings = ClockWarnings()
    /// Documents of this peer that others refuse.
    var refusals = RefusalTable()
    package internal(set) var statistics = SyncStatistics()
    /// What is known of the mesh.
    var mesh: MeshMap
    /// The openings in which peers were met, by their keys.
    var openings: [[UInt8]: Openings] = [:]
    /// Whether some peers may still know the site that this store had before it moved its writes.
    var mayReportSite = false

    /// One connection.
    final class Link {
        let number: UInt64
        /// Random number of the connection, sent in the hello of this side.
        let drawn: UInt64
        let address: String
        let connectedAt: UInt64
        /// The key that the transport has proven.
        let expectedKey: [UInt8]?
        var session: SyncSession
        let rights: PeerRights?
        let ownRights: PeerRights?
        let kind: PeerConnectionKind
        /// When the other side said who it is.
        var greetedAt: UInt64?
        var asking = Asking()
        var telling: Telling?
        /// What the other side wants when it is its turn.
        var delayed: Delayed?
        var files = FileTalk()
        /// From the numbers that names have here to those they have on the connection.
        var spoken = NameTranslation()
        /// Names that documents sent to a peer with limited rights had once.
        var metNames: Set<[UInt8]> = []
        /// From the numbers that the other side has given to those they have here.
        var heard = NameTranslation()
        /// What the other side may see; none where that is everything.
        var readable: SubscriptionMatcher?
        /// The number of the next step if it has a state from before the last subscription.
        var reservedStep: UInt64?
        /// Counts the units of evaluations of `readable`.
        let readMeter: EvaluationMeter
        /// The same as queries, and the part of it that `_id` alone decides.
        var readRule: [SubscriptionQuery]?
        var readableByID: SubscriptionMatcher?
        /// Number of documents sent, less those that the other side has refused.
        var refusableCount: UInt64 = 0
        /// What this side may write on the other one.
        var sendable: SubscriptionMatcher?
        /// The site in the hello of the other side.
        var site = Site.initial
        /// Whether the other side has reported another site than that of its hello.
        var hasNewSite = false
        /// Periods in which the site of the other side has made no write.
        var pauses: [WritePause] = []
        /// The pauses that the other side was told or has told, by their sites, and what shows that there are others.
        var toldPauses: [Site: [WritePause]] = [:]
        var pausesVersion: DocumentEngine.PausesVersion?
        /// The site of this side as the other side knows it.
        var knownSite = Site.initial
        /// What the other side may write here.
        var writable: [SubscriptionQuery]?

        /// Whether the other side may not read everything.
        var isLimited: Bool { readable != nil }
        /// Whether something is left to be done for the other side in the next turn.
        var isUnfinished: Bool {
            telling?.goesOn == true || telling?.preparation != nil || hasUnsettled
                || telling?.limited.isJudging == true || files.isCheckingProofs
        }

        init(
            _ number: UInt64, drawn: UInt64, at address: String, _ session: SyncSession,
            _ rights: PeerRights?,
            own ownRights: PeerRights?, _ kind: PeerConnectionKind, expecting key: [UInt8]?,
            until stop: EvaluationStop, at now: UInt64
        ) {
            readMeter = .unlimited(stop: stop)
            (self.address, connectedAt, expectedKey) = (address, now, key)
            self.drawn = drawn
            self.kind = kind
            self.ownRights = ownRights
            self.number = number
            self.session = session
            self.rights = rights
        }
    }

    package init(
        _ queries: QueryEngine, _ identity: Identity, attachments: AttachmentStore? = nil,
        lengths: Lengths = Lengths(), mostCorrections: Int = CorrectionTable.most,
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

    /// What to do, in this order; each is told once.
    package func takeEffects() -> [Effect] {
        settlePresence()
        for (key, all, new) in refusals.takeChanges() {
            emit(.refusalsChanged(peer: key, all, new: new))
        }
        defer { effects = [] }
        return effects
    }

    func emit(_ effect: Effect) {
        effects.append(effect)
    }

    // MARK: Events

    /// A connection is there; `key` is who the transport has proven the other side to be, which has
    /// rights here, as this side has there.
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
        let link = Link(
            number, drawn: hello.nonce, at: address, session, rights, own: ownRights, kind,
            expecting: key,
            until: evaluationStop, at: now)
        link.knownSite = site.site
        links[number] = link
        handle(link)
    }

    package func receive(_ bytes: UnsafeRawBufferPointer, on number: UInt64, at now: UInt64) {
        self.now = now
        guard let link = links[number] else { return }
        link.session.append(bytes, at: now)
        while link.session.takeFrame() { handle(link) }
        handle(link)
        settleFiles()
    }

    package func tick(at now: UInt64) {
        noteScopes()
        self.now = now
        for link in allLinks {
            link.session.tick(at: now)
            checkPatience(link)
            pace(link)
            sayHowFarIfDue(link)
            handle(link)
        }
        continueTelling()
        reportNewSite()
        checkSetAside()
        tickFiles()
        mesh.tick(at: now)
    }

    /// When time matters next.
    package var deadline: UInt64? {
        if links.values.contains(where: \.isUnfinished) { return now }
        let deadlines = links.values.compactMap { link in
            [
                // While something is written nobody looks what has not come.
                link.session.deadline,
                link.asking.isWriting ? nil : link.asking.announced.deadline, link.asking.due?.turn,
                link.delayed?.turn, link.telling?.echoDue,
            ].compactMap { $0 }.min()
        }
        return (deadlines + [filesDeadline, mesh.deadline, setAsideDeadline].compactMap { $0 })
            .min()
    }

    /// Readers of the store see more than before.
    package func notePublished() {
        news.update(queries.documents)
        // Before anything is told that is kept back by now.
        noteScopes()
        noteEvictions()
        collectChangesForLimitedPeers()
        for link in allLinks {
            acknowledge(link)
            checkAnnounced(link)
            correctDurable(link)
            reviewLacking(link)
            tellWhatIsNew(link)
            handle(link)
        }
        reportNewSite()
        news.forget(before: links.values.compactMap { $0.telling?.sent }.min())
        checkFiles()
        settleFiles()
    }

    /// In an order that does not depend on chance.
    var allLinks: [Link] { links.values.sorted { $0.number < $1.number } }

    // MARK: Effects of sessions

    func handle(_ link: Link) {
        // What one effect leads to may have effects of its own, which come behind those that are there:
        // frames go in the order in which they were made.
        while let effect = link.session.takeEffect() { handle(effect, of: link) }
    }

    private func handle(_ effect: SyncSession.Effect, of link: Link) {
        switch effect {
        case .send(let bytes): emit(.send(link: link.number, bytes))
        case .end(let farewell):
            noteContested(farewell, on: link)
            emit(.close(link: link.number, farewell))
            disconnect(link.number, .ended(farewell, isRemote: link.session.isEndedRemotely))
        case .greeted(let hello): greet(link, hello)
        case .listOwn(let generation): listOwn(link, generation)
        case .apply(let step): apply(step, from: link)
        case .announced(let message): announced(message, on: link)
        case .announceOnly: announceFromNowOn(on: link)
        case .subscribed(let request): subscribed(link, request)
        case .listMatches: listMatches(link, in: news.snapshot)
        case .wanted(let documents): wanted(link, documents, in: news.snapshot)
        case .acknowledged(let commit): acknowledged(link, commit)
        case .roomToSend: tell(link)
        case .setAside(let notice): noteSetAside(notice, on: link)
        case .refused(let notice): noteRefused(notice, on: link)
        case .differing(let addresses): noteDiffering(addresses, on: link)
        case .forgotten(let message): noteForgotten(message, on: link)
        case .changedSite(let site): note(site, of: link)
        case .pauses(let known): learn(known, from: link)
        case .sought(let message): sought(message, on: link)
        case .offered(let message): offered(message, on: link)
        case .fetched(let part, let bytes): fetched(part, bytes, on: link)
        case .proofAsked(let token): proofAsked(token, on: link)
        case .proven(let token): confirmed(token, on: link)
        case .presence(let message): mesh.heard(message, on: link.number, at: now)
        case .presenceTaken: mesh.taken(on: link.number)
        }
    }

    private func greet(_ link: Link, _ hello: Hello) {
        guard takeOver(link, hello), prepareRights(of: link) else { return }
        makeRoom(forPeer: hello.peerKey)
        noteStanding(link, hello)
        note(connected: link, hello)
        noteSite(hello, on: link)
        noteClock(of: hello, on: link)
        mesh.opened(link.number, to: hello.peerKey, kind: link.kind.rawValue, at: now)
        ask(link)
        tellWantedFiles(link)
        checkTokensSoon()
    }
}
