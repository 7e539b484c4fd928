import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Subscribed queries with ORDER BY and LIMIT, whose results depend on all documents.
extension Receiver {
    /// Returns the ranked documents to reconcile; nil if no query has a LIMIT.
    mutating func beginRankCheck(
        _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot, _ context: PeerContext
    ) throws(EngineError) -> SubscriptionRankings? {
        guard matcher.isRanked else { return nil }
        let rankings = try matcher.rankings(
            in: snapshot, widenedBy: rankFactor,
            where: context.access.rankFilter(in: snapshot, isOwn: true))
        rankCheck = RankCheck(
            snapshot: snapshot, compared: Set(rankings.addresses), isAll: rankings.areAll)
        return rankings
    }

    /// Checks whether a reconciliation covered the current results, once its batches are durable.
    mutating func checkRanks(
        through commit: UInt64, _ context: PeerContext
    ) throws(EngineError) {
        guard let check = rankCheck, check.isDue(through: commit) else { return }
        rankCheck = nil
        guard !check.isAll, let matcher = context.subscriptions.matcher else { return }
        let newest = context.shown(context.snapshot)
        let filter = context.access.rankFilter(in: newest, isOwn: true)
        let addresses = try matcher.rankings(in: newest, where: filter).addresses
        guard try check.lacks(addresses) else {
            rankFactor = 1
            return
        }
        rankFactor *= 2
        effects.append(.reconcile)
    }
}
