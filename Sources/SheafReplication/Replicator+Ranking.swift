import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Queries with ORDER BY and LIMIT, whose results depend on all documents of a collection.
extension Replicator {
    // MARK: Queries of this peer

    /// The record of a reconciliation, for a check of whether it covered enough documents.
    ///
    /// A document below the LIMIT enters the result when another one leaves it. If such a document
    /// was not part of the reconciliation, the peers reconcile again with twice as many
    /// documents.
    struct RankCheck {
        /// The local snapshot that was reconciled.
        let snapshot: DocumentSnapshot
        /// Documents that were in the list or were received after it.
        var compared: Set<DocumentAddress>
        /// Whether the list contained all matching documents.
        let isAll: Bool
        /// The remote commit of the first batch after the reconciliation.
        package var commit: UInt64?
    }

    /// Returns the ranked documents to reconcile; nil if no query has a LIMIT.
    func beginRankCheck(
        _ connection: Connection, _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> SubscriptionRankings? {
        guard matcher.isRanked else { return nil }
        let rankings = try matcher.rankings(
            in: snapshot, widenedBy: connection.receiver.rankFactor,
            where: rankFilter(connection, in: snapshot, isOwn: true))
        connection.receiver.rankCheck = RankCheck(
            snapshot: snapshot, compared: Set(rankings.addresses), isAll: rankings.areAll)
        return rankings
    }

    /// Records documents received since the reconciliation.
    func recordCompared(_ step: ShippedStep, on connection: Connection) {
        guard connection.receiver.rankCheck != nil else { return }
        for commit in step.commits {
            for document in commit.documents {
                connection.receiver.rankCheck?.compared.insert(
                    DocumentAddress(collection: document.collection, id: document.id))
            }
        }
        if connection.receiver.rankCheck?.commit == nil {
            connection.receiver.rankCheck?.commit = step.commit
        }
    }

    /// Checks whether a reconciliation covered the current results, once its batches are durable.
    func checkRanks(_ connection: Connection, through commit: UInt64) {
        guard let check = connection.receiver.rankCheck, let first = check.commit, first <= commit
        else {
            return
        }
        connection.receiver.rankCheck = nil
        guard !check.isAll, let matcher = subscriptions.matcher,
            let hello = connection.session.remote
        else {
            return
        }
        do throws(EngineError) {
            guard try hasUnknown(check, matcher, on: connection) else {
                connection.receiver.rankFactor = 1
                return
            }
        } catch {
            return failReading(connection, error)
        }
        connection.receiver.rankFactor *= 2
        subscriptions.cursors[hello.peerKey] = nil
        renewSubscription(connection)
    }

    /// Whether a result contains a formerly existing document that was not reconciled.
    private func hasUnknown(
        _ check: RankCheck, _ matcher: SubscriptionMatcher, on connection: Connection
    ) throws(EngineError) -> Bool {
        let newest = shown(news.snapshot, to: connection)
        let filter = rankFilter(connection, in: newest, isOwn: true)
        for address in try matcher.rankings(in: newest, where: filter).addresses
        where !check.compared.contains(address) {
            guard let key = check.snapshot.key(of: address),
                let document = try check.snapshot.document(key), !document.isRemnant
            else { continue }
            return true
        }
        return false
    }

    /// Returns the filter for documents that are ranked for the peer; nil if all are.
    ///
    /// With `isOwn`, this peer is the subscriber, which names its documents when the peers
    /// reconcile.
    func rankFilter(
        _ connection: Connection, in snapshot: DocumentSnapshot, isOwn: Bool
    ) -> SubscriptionRankings.Filter? {
        guard isRestricted(connection) else { return nil }
        return { (document, key, address) throws(EngineError) in
            try self.isShown(connection, document, key, address, snapshot, isOwn: isOwn)
        }
    }

    // MARK: Queries of remote peers

    /// Advances the rankings of a catch-up batch; returns false if the peers must reconcile.
    ///
    /// Adds the keys of documents that enter a result, and removes those that only the peer has
    /// changed.
    func advance(_ step: inout CatchUp, on connection: Connection) throws(EngineError) -> Bool {
        guard let matcher = connection.sender?.matcher, matcher.isRanked else { return true }
        let filter = rankFilter(connection, in: step.snapshot, isOwn: false)
        do throws(EngineError) {
            try step.advance?.run(matcher, filter)
        } catch {
            if error == .paused { connection.sender?.catchingUp = step }
            throw error
        }
        guard let rankings = step.advance?.rankings, rankings.areSure else { return false }
        var known = Set(step.keys)
        if let others = step.omittedKeys { step.keys.removeAll { !others.contains($0) } }
        for key in rankings.entered(step.snapshot.catalog) where known.insert(key).inserted {
            step.keys.append(key)
        }
        connection.sender?.rankings = rankings
        connection.sender?.rankings?.discardChanges()
        return true
    }
}
