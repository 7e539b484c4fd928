package import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// How far one other peer is.
package struct PeerSurvey: Sendable {
    package let key: PeerKey
    package let name: String
    package let isServer: Bool
    package let isConnected: Bool
    /// Why the last connection ended; nil while none has.
    package let lastCloseReason: String?
    /// It has everything that it subscribed to, up to this commit of ours.
    package let syncedUpTo: UInt64?
    /// The queries that it has subscribed to; none where it has said nothing yet.
    package let wants: [String]?
    /// Whether all is here that it had for us when it was asked, or nothing was asked of it.
    package let isTaken: Bool
    /// Whether it has all that it wants of us.
    package let isGiven: Bool
    /// What is known of its clock.
    package let clock: ClockReport
    /// Documents written here that the peer refuses.
    package let refused: [RefusedWrite]
}

/// What became of one document on its way to one peer.
package struct SyncExplanation: Sendable {
    package enum Presence: String, Sendable {
        case missing, deleted, present
    }

    package let presence: Presence
    /// The newest commit here that has touched the document.
    package let commit: UInt64?
    package let isConnected: Bool
    /// Why the last connection ended; nil while none has.
    package let lastCloseReason: String?
    /// The queries of the other side that match the document as it is now.
    package let matching: [String]
    /// How many queries the other side has subscribed to; none where it has said nothing yet.
    package let queryCount: Int?
    /// The scope of the collection, and whether that lets it go to this peer.
    package let scope: String
    package let isShared: Bool
    /// Whether the rules of the other side let it see the document.
    package let mayRead: Bool
    /// Whether the rules of this side let it write the document there.
    package let maySend: Bool
    /// The other side was sent all that it may have, up to this commit.
    package let sentUpTo: UInt64?
    /// The other side has all that it may have, up to this commit.
    package let acknowledgedUpTo: UInt64?
    /// What is wrong with the clocks of the two sides.
    package let clock: ClockReport
    /// The time of the document there, in milliseconds since 1970, for which it is set aside here; nil where it
    /// is not.
    package let setAsideUntil: UInt64?
    /// How far the latest dot of the document is ahead of the clock here, in milliseconds; nil where it is not.
    package let aheadMilliseconds: UInt64?
    /// The refusal of the document as it was written here; nil where the peer does not refuse it.
    package let refused: RefusedWrite?
}

/// What people ask who wonder where a document is.
extension SyncHost {
    /// All peers that were met since the store was opened, in the order of their keys.
    package func surveys() -> [PeerSurvey] {
        statuses.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, status in
            let link = openLink(to: key)
            return PeerSurvey(
                key: PeerKey(unchecked: key), name: status.name, isServer: status.isServer,
                isConnected: status.isConnected, lastCloseReason: status.lastCloseReason,
                syncedUpTo: status.syncedUpTo,
                wants: link?.telling?.matcher.subscribed.map(\.statement.text),
                isTaken: link.map(isTaken) ?? false, isGiven: link.map(isGiven) ?? false,
                clock: status.clock, refused: refusals.refusals(of: key).writes)
        }
    }

    private func openLink(to key: [UInt8]) -> Link? {
        allLinks.last { $0.session.isOpen && $0.session.remote?.peerKey == key }
    }

    private func isTaken(_ link: Link) -> Bool {
        let asking = link.asking
        guard asking.generation > 0 else { return true }
        return asking.hasCaughtUp && !asking.isWriting && asking.waiting.isEmpty
            && asking.written.isEmpty && asking.announced.messages.isEmpty
            && asking.reportedSetAside == 0
    }

    private func isGiven(_ link: Link) -> Bool {
        let key = link.session.remote?.peerKey ?? []
        guard link.delayed == nil, statuses[key]?.clock.setAsideThere == nil else { return false }
        // Who subscribes to nothing acknowledges nothing.
        guard let telling = link.telling, !telling.matcher.subscribed.isEmpty else { return true }
        return telling.isStreaming && telling.outgoing == nil && telling.whole.isEmpty
            && telling.acknowledged >= news.snapshot.log.commit
    }

    /// What became of a document on its way to a peer; nothing where that peer was never met.
    package func explanation(
        of collection: String, _ id: Value, for peer: PeerKey
    ) throws -> SyncExplanation? {
        guard let status = statuses[peer.bytes] else { return nil }
        let snapshot = news.snapshot
        let key: [UInt8]?
        let document: StoredDocument?
        do throws(EngineError) {
            key = try snapshot.key(collection: collection, id: id)
            document =
                try key.map { (key) throws(EngineError) in try snapshot.document(key) } ?? nil
        } catch {
            throw StoreError(error)
        }
        let isDeleted = document?.isTombstone ?? false
        let link = openLink(to: peer.bytes)
        func matches(_ matcher: SubscriptionMatcher?) throws -> Bool {
            // Nothing of a document that was deleted can be seen or hidden.
            guard let matcher, let key, !isDeleted else { return true }
            do throws(EngineError) {
                return try matcher.matches(document, key: key, in: collection, snapshot.names)
            } catch {
                throw StoreError(error)
            }
        }
        var matching: [String] = []
        // The caller waits for the evaluation, and so do all connections.
        let meter = EvaluationMeter(
            SyncLimits.evaluationUnitsOnDocument, stop: evaluationStop)
        if document != nil, !isDeleted {
            for query in link?.telling?.matcher.subscribed ?? []
            where UTF8Order.compare(query.collection, collection) == 0 {
                let matcher = SubscriptionMatcher([query], queries, meter: meter, where: nil)
                let isRanked =
                    try key.map { try ranks($0, matcher, in: snapshot, for: link) } ?? false
                if try isRanked || matches(matcher) { matching.append(query.statement.text) }
            }
        }
        return SyncExplanation(
            presence: document == nil ? .missing : isDeleted ? .deleted : .present,
            commit: try key.flatMap { try newestCommit(of: $0, in: snapshot) },
            isConnected: status.isConnected, lastCloseReason: status.lastCloseReason,
            matching: matching,
            queryCount: link?.telling?.matcher.subscribed.count,
            scope: scopes.scope(of: collection).rawValue,
            isShared: scopes.allows(collection, toServer: status.isServer),
            mayRead: try matches(link?.readable), maySend: try matches(link?.sendable),
            sentUpTo: link?.telling.flatMap { $0.isStreaming ? $0.sent : nil },
            acknowledgedUpTo: status.syncedUpTo, clock: status.clock,
            setAsideUntil: setAsideTime(of: collection, id, from: peer.bytes),
            aheadMilliseconds: try aheadMilliseconds(of: document),
            refused: refusedWrite(of: collection, id, by: peer.bytes))
    }

    /// Whether a document is among those that queries with LIMIT have.
    private func ranks(
        _ key: [UInt8], _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot,
        for link: Link?
    ) throws -> Bool {
        guard matcher.isRanked, let collection = snapshot.address(of: key)?.collection else {
            return false
        }
        do throws(EngineError) {
            let filter = link.flatMap { rankFilter($0, in: snapshot, isOwn: false) }
            return try matcher.rankings(in: snapshot, where: filter).contains(key, in: collection)
                .now
        } catch {
            throw StoreError(error)
        }
    }

    private func newestCommit(
        of key: [UInt8], in snapshot: DocumentSnapshot
    ) throws -> UInt64? {
        var history = key.span.withUnsafeBytes { snapshot.log.history(of: $0) }
        do throws(StorageError) { return try history.next()?.commit } catch {
            throw StoreError(error)
        }
    }
}
