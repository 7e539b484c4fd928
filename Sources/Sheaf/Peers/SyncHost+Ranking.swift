import SheafDocument
import SheafStorage
import SheafSync

/// Queries with ORDER BY and LIMIT: which documents they have depends on all others.
extension SyncHost {
    // MARK: What this peer wants

    /// What was compared, so that it can be told whether that was enough.
    ///
    /// Documents that lay behind the last one may come in where others went: of these nobody knows whether
    /// they are as the other side has them. Then twice as many are compared.
    struct RankCheck {
        /// What was there.
        let snapshot: DocumentSnapshot
        /// What was in a list or came behind it.
        var compared: Set<DocumentAddress>
        /// Whether that was all that matches.
        let isAll: Bool
        /// The first commit of the other side that came behind the comparison.
        var commit: UInt64?
    }

    /// What is compared of queries with LIMIT; none where there are no such queries.
    func beginRankCheck(
        _ link: Link, _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> SubscriptionRankings? {
        guard matcher.isRanked else { return nil }
        let rankings = try matcher.rankings(
            in: snapshot, widenedBy: link.asking.rankFactor,
            where: rankFilter(link, in: snapshot, isOwn: true))
        link.asking.rankCheck = RankCheck(
            snapshot: snapshot, compared: Set(rankings.addresses), isAll: rankings.areAll)
        return rankings
    }

    /// Notes what has come since the comparison.
    func noteCompared(_ step: ShippedStep, on link: Link) {
        guard link.asking.rankCheck != nil else { return }
        for commit in step.commits {
            for document in commit.documents {
                link.asking.rankCheck?.compared.insert(
                    DocumentAddress(collection: document.collection, id: document.id))
            }
        }
        if link.asking.rankCheck?.commit == nil { link.asking.rankCheck?.commit = step.commit }
    }

    /// Looks, when what came of a comparison is durable, whether all is known of what is first now.
    func checkRanks(_ link: Link, through commit: UInt64) {
        guard let check = link.asking.rankCheck, let first = check.commit, first <= commit else {
            return
        }
        link.asking.rankCheck = nil
        guard !check.isAll, let matcher = wishes.matcher, let hello = link.session.remote else {
            return
        }
        do throws(EngineError) {
            guard try hasUnknown(check, matcher, on: link) else {
                link.asking.rankFactor = 1
                return
            }
        } catch {
            return failReading(link, error)
        }
        link.asking.rankFactor *= 2
        wishes.cursors[hello.peerKey] = nil
        ask(link)
    }

    /// Whether there is a document among the first ones that was there, and that nobody has compared.
    private func hasUnknown(
        _ check: RankCheck, _ matcher: SubscriptionMatcher, on link: Link
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

    /// Which documents have a rank for the other side; nil where all have.
    ///
    /// `isOwn` where this side asks: its documents are named to the other one when the two compare.
    func rankFilter(
        _ link: Link, in snapshot: DocumentSnapshot, isOwn: Bool
    ) -> SubscriptionRankings.Filter? {
        guard isRestricted(link) else { return nil }
        return { (document, key, address) throws(EngineError) in
            try self.isShown(link, document, key, address, snapshot, isOwn: isOwn)
        }
    }

    // MARK: What others want

    /// Moves on what was told of queries with LIMIT; false where the two have to compare.
    ///
    /// Adds the keys of what comes in, and takes out those of what only the other side has changed.
    func advance(_ step: inout CatchUp, on link: Link) throws(EngineError) -> Bool {
        guard let matcher = link.telling?.matcher, matcher.isRanked else { return true }
        let filter = rankFilter(link, in: step.snapshot, isOwn: false)
        do throws(EngineError) {
            try step.advance?.run(matcher, filter)
        } catch {
            if error == .paused { link.telling?.catchingUp = step }
            throw error
        }
        guard let rankings = step.advance?.rankings, rankings.areSure else { return false }
        var known = Set(step.keys)
        if let told = step.told { step.keys.removeAll { !told.contains($0) } }
        for key in rankings.entered(step.snapshot.directory) where known.insert(key).inserted {
            step.keys.append(key)
        }
        link.telling?.rankings = rankings
        link.telling?.rankings?.forgetChanges()
        return true
    }
}
