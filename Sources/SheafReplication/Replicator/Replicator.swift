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

    /// An action that the replication thread must perform.
    package enum Effect: Sendable {
        case send(connection: UInt64, [UInt8])
        /// Closes a connection once the bytes queued for it have been sent.
        case close(connection: UInt64, CloseMessage)
        /// A connection has ended; the replication thread closes it if it is still open.
        case ended(connection: UInt64, CloseReason)
        case write(WriteJob)
        /// Asks something of the hub log.
        case hub(HubEffect)
        /// The state of an attachment fetch has changed.
        case fetched(AttachmentID, FetchUpdate)
        /// The result of `allStatuses` has changed.
        case statusChanged
        /// `reachablePeers` or `disconnectedPeers(unreachable:)` has changed.
        case presenceChanged
        /// The clock of a peer deviates, or documents are quarantined; the texts describe the
        /// faults.
        case clockWarning(peer: [UInt8], [String])
        /// Another peer has the key of this peer, and publishes this record.
        case keyContested(PeerRecord)
        /// The refusals of a peer have changed: the complete set and the new ones.
        case refusalsChanged(peer: [UInt8], PeerRefusals, new: [RefusedWrite])
    }

    package let queries: QueryEngine
    var identity: Identity
    /// Random ID of the log, drawn for each replicator; a cursor is valid for one ID.
    package let log: XXH3.Hash128
    private let random: () -> UInt64
    /// The hub log; nil unless this peer is a hub.
    var feed: HubFeed?
    /// Whether this peer is a hub, so that batches wait for the hub log.
    var isHub = false
    /// The commit up to which commits were hub-durable in the log that was shared last.
    var lastHubDurable: CommitID = 0
    /// The documents of clients that are not hub-durable.
    var heldClients = HeldClients()
    /// Number of jobs of hub logs that have no outcome yet.
    var feedJobCount = 0
    let limits: ReplicatorLimits
    /// The connections, and those that an event must visit.
    let table = ConnectionTable()
    var peers = RememberedPeers()
    private var effects: [Effect] = []

    /// The time of the last event.
    var now: UInt64 = 0
    /// The sharing scopes of the collections.
    var scopes: SyncScopes

    var subscriptions = LocalSubscriptions()
    var recent: RecentCommits
    var rateLimiters = RateLimiters()
    /// Evaluation budgets, by peer key.
    var budgets: EvaluationBudgets
    /// Flag that cancels query evaluation when the peer stops.
    let evaluationStop: EvaluationStop
    /// Evaluation units left in this iteration for the queries of all peers.
    package let slice: EvaluationSlice
    /// Number of the connection on which the last slice was used up.
    var lastSlicedConnection: UInt64 = 0
    var transfer: AttachmentTransfer
    var repairs: ReadRepairTable
    var unfinishedWrites = UnfinishedWrites()
    /// Received documents quarantined for stamps too far ahead of the local clock.
    package var quarantine = QuarantineTable()
    var clockWarnings = ClockWarnings()
    /// Local documents that peers refuse.
    var refusals = RefusalTable()
    package internal(set) var statistics = SyncStatistics()
    /// Peers and connections known through gossip.
    var mesh: LinkStateDatabase
    /// Log IDs under which peers have connected, by peer key.
    var openings = PeerOpenings(most: RememberedPeers.maximumCount)
    /// Whether some peers may still know only the former site of this store.
    var mayReportSite = false

    package init(
        _ queries: QueryEngine, _ identity: Identity, attachments: AttachmentStore? = nil,
        limits: ReplicatorLimits = ReplicatorLimits(),
        maximumRepairs: Int = ReadRepairTable.maximumDocuments,
        evaluationStop: EvaluationStop = EvaluationStop(), random: @escaping () -> UInt64
    ) {
        self.evaluationStop = evaluationStop
        slice = EvaluationSlice(limits.evaluated)
        budgets = EvaluationBudgets(slice, until: evaluationStop)
        self.limits = limits
        repairs = ReadRepairTable(most: maximumRepairs)
        self.queries = queries
        self.identity = identity
        self.random = random
        log = XXH3.Hash128(low: random(), high: random())
        recent = RecentCommits(queries.documents)
        transfer = AttachmentTransfer(
            attachments, queries.documents, quota: limits.receivedAttachments, recent.snapshot)
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

    func randomNumber() -> UInt64 { random() }

    func emit(_ effect: Effect) {
        effects.append(effect)
    }

    /// Adds a connection.
    ///
    /// `key` is the peer key proven by the transport, `rights` are the peer's rights at this store,
    /// and `ownRights` are this peer's rights at the remote store.
    package func connect(
        _ number: UInt64, expecting key: [UInt8]? = nil, rights: PeerRights? = nil,
        own ownRights: PeerRights? = nil, _ kind: PeerConnectionKind = .other,
        from address: String = "", at now: UInt64
    ) {
        let site = queries.documents.siteReport(through: recent.snapshot.log.commit)
        let hello = Hello(
            versions: limits.versions, database: identity.database, peerKey: identity.peerKey,
            site: site.site, log: log, nonce: random(),
            wallMilliseconds: queries.options.clock.wallMilliseconds(),
            pauses: site.pauses,
            isServer: identity.isServer, name: identity.name)
        let session = SyncSession(hello, expecting: key, at: now)
        let connection = Connection(
            number, in: table, nonce: hello.nonce, at: address, session,
            PeerAccess(rights, own: ownRights, scopes, until: evaluationStop), kind,
            expecting: key, at: now)
        connection.exchange.sites.reported = site.site
        table.insert(connection)
        if heldClients.since != nil { connection.session.withholdCredit(true) }
        pump()
    }

    var connections: [UInt64: Connection] { table.byNumber }
    /// All connections, ordered by number so that runs are deterministic.
    var orderedConnections: [Connection] { table.ordered }

    package func receive(_ bytes: UnsafeRawBufferPointer, on number: UInt64, at now: UInt64) {
        self.now = now
        transfer.now = now
        guard let connection = connections[number] else { return }
        connection.session.append(bytes, at: now)
        // The effects of a frame precede the next one, which may cancel them.
        while connection.session.processFrame() { settle(connection) }
        pump()
    }

    package func tick(at now: UInt64) {
        applyScopes()
        self.now = now
        transfer.now = now
        table.touchDue(at: now)
        // The timers of all other connections are not due.
        var last: UInt64?
        while let connection = table.touched.next(after: last) {
            last = connection.number
            connection.session.tick(at: now)
            checkAnnouncementTimeout(connection)
            applyRateLimits(connection)
            settle(connection)
            sendPositionIfDue(connection)
            settle(connection)
        }
        renewWindowsIfDue()
        continueSending()
        checkQuarantine()
        tickFeed()
        tickTransfer()
        mesh.tick(at: now)
        pump()
    }

    /// The time at which `tick(at:)` is due next; nil if no timer is pending.
    package var deadline: UInt64? {
        refreshTable()
        if table.unfinishedCount > 0 || transfer.isCheckingProofs { return now }
        let others = [
            transferDeadline, mesh.deadline, quarantineDeadline, windowDeadline, feed?.deadline,
        ]
        return others.reduce(table.deadline) { first, other in
            guard let first, let other else { return first ?? other }
            return min(first, other)
        }
    }

    /// Processes commits that have become visible to readers.
    ///
    /// Without a time, the time of the last event is used.
    package func processPublished(at time: UInt64? = nil) {
        now = time ?? now
        transfer.now = now
        recent.update(queries.documents)
        unfinishedWrites.removeDurable(through: recent.snapshot.log.commit)
        transfer.snapshot = recent.snapshot
        // The scopes are updated first: they decide which documents may be sent.
        applyScopes()
        requestEvicted()
        requestNewCollections()
        collectChangesForLimitedPeers()
        scheduleSending()
        feedPublished()
        pump()
        let sent = table.behind.members.compactMap { $0.sender?.sent }.min()
        recent.discard(before: [sent, feed?.shipped].compactMap { $0 }.min())
        checkTransfers()
        pump()
    }

    /// Number of bytes of complete batches of all peers that are not written, without those that
    /// spilled to disk.
    package var unwrittenLength: Int { table.unwrittenLength }

    /// Updates the lists of the table for the connections that have changed.
    func refreshTable() {
        table.refresh(through: recent.snapshot.log.commit)
    }

    /// A description of the first violated invariant after an event, or nil; for tests.
    package var violation: String? {
        if let pending = orderedConnections.first(where: \.isPending) {
            return "connection \(pending.number) is pending after an event"
        }
        return table.violation(through: recent.snapshot.log.commit)
    }
}
