import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Queries with ORDER BY and LIMIT, whose results depend on all documents of a collection.
extension Replicator {
    // MARK: Queries of this peer

    /// Returns the ranked documents to reconcile; nil if no query has a LIMIT.
    func beginRankCheck(
        _ connection: Connection, _ matcher: SubscriptionMatcher, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> SubscriptionRankings? {
        guard matcher.isRanked else { return nil }
        let rankings = try matcher.rankings(
            in: snapshot, widenedBy: connection.receiver.rankFactor,
            where: connection.access.rankFilter(in: snapshot, isOwn: true))
        connection.receiver.rankCheck = RankCheck(
            snapshot: snapshot, compared: Set(rankings.addresses), isAll: rankings.areAll)
        return rankings
    }

    /// Checks whether a reconciliation covered the current results, once its batches are durable.
    func checkRanks(_ connection: Connection, through commit: UInt64) {
        guard let check = connection.receiver.rankCheck, check.isDue(through: commit) else {
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

    /// Whether a result contains a document of the reconciled snapshot that was not compared.
    private func hasUnknown(
        _ check: RankCheck, _ matcher: SubscriptionMatcher, on connection: Connection
    ) throws(EngineError) -> Bool {
        let newest = context(of: connection).shown(news.snapshot)
        let filter = connection.access.rankFilter(in: newest, isOwn: true)
        return try check.lacks(try matcher.rankings(in: newest, where: filter).addresses)
    }
}
