package import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
package import SheafTransport

/// The replication status of one remote peer.
package struct PeerSurvey: Sendable {
    package let key: PeerKey
    package let name: String
    package let isServer: Bool
    package let isConnected: Bool
    /// The reason why the last connection ended; nil if none has ended.
    package let lastCloseReason: String?
    /// The local commit up to which the peer has all documents of its subscription.
    package let syncedUpTo: UInt64?
    /// The queries that the peer subscribes to; nil if it has not subscribed.
    package let queries: [String]?
    /// Whether all documents requested from the peer have been received and are durable.
    package let isReceived: Bool
    /// Whether the peer has all documents of its subscription.
    package let isSent: Bool
    /// The progress of documents that are received from the peer, and of those sent to it.
    package let receiving: SyncProgress?
    package let sending: SyncProgress?
    /// Clock deviations of the peer, and the documents quarantined for them.
    package let clock: ClockReport
    /// Local documents that the peer refuses.
    package let refused: [RefusedWrite]
    /// The collections that the rights of this peer let it read there; nil if it may read all.
    package let readable: Set<String>?
}

/// A document in the local store.
package struct DocumentStatus: Sendable {
    /// Whether the store has the document; it may have evicted it, also its own writes.
    package enum Presence: String, Sendable {
        case missing, evicted, deleted, present
    }

    package let presence: Presence
    /// The newest local commit that changed the document.
    package let commit: UInt64?
}

/// The replication status of one document at one peer.
package struct SyncExplanation: Sendable {
    package let presence: DocumentStatus.Presence
    /// The newest local commit that changed the document.
    package let commit: UInt64?
    package let isConnected: Bool
    /// The reason why the last connection ended; nil if none has ended.
    package let lastCloseReason: String?
    /// The queries of the peer that match the current document.
    package let matching: [String]
    /// Number of queries that the peer subscribes to; nil if it has not subscribed.
    package let queryCount: Int?
    /// The scope of the collection, and whether it includes the peer.
    package let scope: String
    package let isShared: Bool
    /// Whether the rights of the peer permit it to read the document.
    package let mayRead: Bool
    /// Whether the rights of this peer permit it to send the document.
    package let maySend: Bool
    /// The local commit up to which documents were sent to the peer.
    package let sentUpTo: UInt64?
    /// The local commit up to which the peer has all documents of its subscription.
    package let acknowledgedUpTo: UInt64?
    /// Clock deviations of the peer, and the documents quarantined for them.
    package let clock: ClockReport
    /// Time of the peer's version that is quarantined locally, in milliseconds since 1970, or nil.
    package let quarantinedUntil: UInt64?
    /// Milliseconds by which the latest dot of the document is ahead of the local clock, or nil.
    package let aheadMilliseconds: UInt64?
    /// The peer's refusal of the local version; nil if there is none.
    package let refused: RefusedWrite?

    package init(
        presence: DocumentStatus.Presence, commit: UInt64?, isConnected: Bool,
        lastCloseReason: String?, matching: [String], queryCount: Int?, scope: String,
        isShared: Bool, mayRead: Bool, maySend: Bool, sentUpTo: UInt64?, acknowledgedUpTo: UInt64?,
        clock: ClockReport, quarantinedUntil: UInt64?, aheadMilliseconds: UInt64?,
        refused: RefusedWrite?
    ) {
        self.presence = presence
        self.commit = commit
        self.isConnected = isConnected
        self.lastCloseReason = lastCloseReason
        self.matching = matching
        self.queryCount = queryCount
        self.scope = scope
        self.isShared = isShared
        self.mayRead = mayRead
        self.maySend = maySend
        self.sentUpTo = sentUpTo
        self.acknowledgedUpTo = acknowledgedUpTo
        self.clock = clock
        self.quarantinedUntil = quarantinedUntil
        self.aheadMilliseconds = aheadMilliseconds
        self.refused = refused
    }
}

/// Reports on the replication of peers and documents, for `explain-sync`.
extension Replicator {
    /// Returns the status of all remembered peers, ordered by key.
    package func surveys() -> [PeerSurvey] {
        allStatuses.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, status in
            let connection = openConnection(to: key)
            return PeerSurvey(
                key: PeerKey(unchecked: key), name: status.name, isServer: status.isServer,
                isConnected: status.isConnected, lastCloseReason: status.lastCloseReason,
                syncedUpTo: status.syncedUpTo,
                queries: connection?.sender?.matcher.subscribed.map(\.text),
                isReceived: connection.map(isReceived) ?? false,
                isSent: connection.map(isSent) ?? false,
                receiving: status.receiving, sending: status.sending,
                clock: status.clock, refused: refusals.refusals(of: key).writes,
                readable: connection?.access.ownRights.map { Set($0.read.keys) })
        }
    }

    private func openConnection(to key: [UInt8]) -> Connection? {
        table.connections(to: key).last { $0.session.isOpen }
    }

    private func isReceived(_ connection: Connection) -> Bool {
        let receiver = connection.receiver
        guard receiver.generation > 0 else { return true }
        return receiver.hasCaughtUp && !receiver.isWriting && receiver.waiting.isEmpty
            && receiver.written.isEmpty && receiver.announced.messages.isEmpty
            && receiver.reportedQuarantineCount == 0
    }

    private func isSent(_ connection: Connection) -> Bool {
        let key = connection.session.remote?.peerKey ?? []
        guard connection.delayed == nil, peers[key]?.clock.quarantinedRemotely == nil else {
            return false
        }
        // A peer that subscribes to nothing sends no acknowledgments.
        guard let sender = connection.sender, !sender.matcher.subscribed.isEmpty else {
            return true
        }
        return sender.isStreaming && sender.outgoing == nil && sender.complete.isEmpty
            && sender.acknowledged >= recent.snapshot.log.commit
    }

    /// Returns the replication status of a document at a peer; nil if the peer is unknown.
    package func explanation(
        of collection: String, _ id: Value, for peer: PeerKey
    ) throws(EngineError) -> SyncExplanation? {
        guard let status = peers[peer.bytes] else { return nil }
        let snapshot = recent.snapshot
        let key = try snapshot.key(collection: collection, id: id)
        let (document, presence) = try storedDocument(key, in: snapshot)
        let isDeleted = presence == .deleted
        let connection = openConnection(to: peer.bytes)
        func matches(_ matcher: SubscriptionMatcher?) throws(EngineError) -> Bool {
            // A deleted document has no content on which a rule could be evaluated.
            guard let matcher, let key, !isDeleted else { return true }
            return try matcher.matches(document, key: key, in: collection, snapshot.names)
        }
        var matching: [String] = []
        // The evaluation is limited, since it blocks the caller and all connections.
        let meter = EvaluationMeter(
            SyncLimits.evaluationUnitsOnDocument, stop: evaluationStop)
        if document != nil, !isDeleted {
            for query in connection?.sender?.matcher.subscribed ?? []
            where query.selects(for: collection) {
                let matcher = SubscriptionMatcher([query], queries, meter: meter, where: nil)
                var isMatch = try ranks(key, matcher, in: snapshot, for: connection)
                if !isMatch { isMatch = try matches(matcher) }
                if isMatch { matching.append(query.text) }
            }
        }
        return SyncExplanation(
            presence: presence,
            commit: try newestCommit(of: key, in: snapshot),
            isConnected: status.isConnected, lastCloseReason: status.lastCloseReason,
            matching: matching,
            queryCount: connection?.sender?.matcher.subscribed.count,
            scope: scopes.scope(of: collection).rawValue,
            isShared: scopes.allows(collection, toServer: status.isServer),
            mayRead: try matches(connection?.access.readable),
            maySend: try matches(connection?.access.sendable),
            sentUpTo: connection?.sender.flatMap { $0.isStreaming ? $0.sent : nil },
            acknowledgedUpTo: status.syncedUpTo, clock: status.clock,
            quarantinedUntil: quarantineTime(of: collection, id, from: peer.bytes),
            aheadMilliseconds: try aheadMilliseconds(of: document, key),
            refused: refusedWrite(of: collection, id, by: peer.bytes))
    }

    /// Returns the status of a document in the local store.
    package func documentStatus(
        of collection: String, _ id: Value
    ) throws(EngineError) -> DocumentStatus {
        let key = try recent.snapshot.key(collection: collection, id: id)
        return DocumentStatus(
            presence: try storedDocument(key, in: recent.snapshot).presence,
            commit: try newestCommit(of: key, in: recent.snapshot))
    }

    /// Returns the local subscriptions that select documents of a collection.
    package func subscriptions(of collection: String) -> [String] {
        subscriptions.requested.filter { $0.selects(for: collection) }.map(\.text)
    }

    /// Returns a document or its tombstone, and whether the store has or evicted it.
    private func storedDocument(
        _ key: [UInt8]?, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> (StoredDocument?, presence: DocumentStatus.Presence) {
        guard let key else { return (nil, .missing) }
        guard let document = try snapshot.document(key) else {
            return (nil, try isEvicted(key, in: snapshot) ? .evicted : .missing)
        }
        guard !document.isRemnant else { return (nil, .evicted) }
        return (document, document.isTombstone ? .deleted : .present)
    }

    /// Whether the newest operation of a key removed a document, as far as the log reaches back.
    private func isEvicted(
        _ key: [UInt8], in snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard let commit = try newestCommit(of: key, in: snapshot), commit > 0,
            let before = try snapshot.document(key, asOf: commit - 1) ?? nil
        else { return false }
        return !before.isTombstone
    }

    /// Whether a document is in the result of a query with LIMIT.
    private func ranks(
        _ key: [UInt8]?, _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot,
        for connection: Connection?
    ) throws(EngineError) -> Bool {
        guard matcher.isRanked, let key, let collection = snapshot.address(of: key)?.collection
        else { return false }
        let filter = connection.flatMap { $0.access.rankFilter(in: snapshot, isOwn: false) }
        return try matcher.rankings(in: snapshot, where: filter).contains(key, in: collection).now
    }

    private func newestCommit(
        of key: [UInt8]?, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> UInt64? {
        guard let key else { return nil }
        var history = key.span.withUnsafeBytes { snapshot.log.history(of: $0) }
        return try onStorage { () throws(StorageError) in try history.next()?.commit }
    }
}
