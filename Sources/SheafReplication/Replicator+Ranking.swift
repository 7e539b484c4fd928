import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Queries with ORDER BY and LIMIT, whose results depend on all documents of a collection.
extension Replicator {
    // MARK: Queries of this peer

    /// The record of a reconciliation, for a check of whether it compared enough documents.
    ///
    /// A document below the LIMIT enters the result when another one leaves it. If such a document
    /// was not compared with the remote version, the peers reconcile again with twice as many
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
        _ link: Connection, _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> SubscriptionRankings? {
        guard matcher.isRanked else { return nil }
        let rankings = try matcher.rankings(
            in: snapshot, widenedBy: link.receiver.rankFactor,
            where: rankFilter(link, in: snapshot, isOwn: true))
        link.receiver.rankCheck = RankCheck(
            snapshot: snapshot, compared: Set(rankings.addresses), isAll: rankings.areAll)
        return rankings
    }

    /// Records documents received since the reconciliation.
    func recordCompared(_ step: ShippedStep, on link: Connection) {
        guard link.receiver.rankCheck != nil else { return }
        for commit in step.commits {
            for document in commit.documents {
                link.receiver.rankCheck?.compared.insert(
                    DocumentAddress(collection: document.collection, id: document.id))
            }
        }
        if link.receiver.rankCheck?.commit == nil { link.receiver.rankCheck?.commit = step.commit }
    }

    /// Checks whether a reconciliation covered the current results, once its batches are durable.
    func checkRanks(_ link: Connection, through commit: UInt64) {
        guard let check = link.receiver.rankCheck, let first = check.commit, first <= commit else {
            return
        }
        link.receiver.rankCheck = nil
        guard !check.isAll, let matcher = wishes.matcher, let hello = link.session.remote else {
            return
        }
        do throws(EngineError) {
            guard try hasUnknown(check, matcher, on: link) else {
                link.receiver.rankFactor = 1
                return
            }
        } catch {
            return failReading(link, error)
        }
        link.receiver.rankFactor *= 2
        wishes.cursors[hello.peerKey] = nil
        renewSubscription(link)
    }

    /// Whether a result contains a formerly existing document that was not compared.
    private func hasUnknown(
        _ check: RankCheck, _ matcher: SubscriptionMatcher, on link: Connection
    ) throws(EngineError) -> Bool {
        let newest = shown(news.snapshot, to: link)
        let filter = rankFilter(link, in: newest, isOwn: true)
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
        _ link: Connection, in snapshot: DocumentSnapshot, isOwn: Bool
    ) -> SubscriptionRankings.Filter? {
        guard isRestricted(link) else { return nil }
        return { (document, key, address) throws(EngineError) in
            try self.isShown(link, document, key, address, snapshot, isOwn: isOwn)
        }
    }

    // MARK: Queries of remote peers

    /// Advances the rankings of a catch-up batch; returns false if the peers must reconcile.
    ///
    /// Adds the keys of documents that enter a result, and removes those that only the peer has
    /// changed.
    func advance(_ step: inout CatchUp, on link: Connection) throws(EngineError) -> Bool {
        guard let matcher = link.sender?.matcher, matcher.isRanked else { return true }
        let filter = rankFilter(link, in: step.snapshot, isOwn: false)
        do throws(EngineError) {
            try step.advance?.run(matcher, filter)
        } catch {
            if error == .paused { link.sender?.catchingUp = step }
            throw error
        }
        guard let rankings = step.advance?.rankings, rankings.areSure else { return false }
        var known = Set(step.keys)
        if let told = step.omittedKeys { step.keys.removeAll { !told.contains($0) } }
        for key in rankings.entered(step.snapshot.catalog) where known.insert(key).inserted {
            step.keys.append(key)
        }
        link.sender?.rankings = rankings
        link.sender?.rankings?.discardChanges()
        return true
    }
}
