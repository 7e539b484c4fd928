package import SheafDocument
import SheafSync

/// The distinct queries of a peer, counted against the limits of a subscription.
package struct SubscriptionTally: Sendable {
    /// Number of subscriptions of each query.
    private var counts: [SubscribedQuery: Int] = [:]
    private var length = 0
    private var ranked = 0

    package init() {}

    /// Adds a query, or throws an error that names the limit and the value that exceeds it.
    package mutating func add(_ query: SubscriptionQuery) throws(StoreError) {
        let wire = query.wire
        if let count = counts[wire] {
            counts[wire] = count + 1
            return
        }
        try Self.check(wire)
        guard counts.count < SyncLimits.queries else {
            throw Self.excess(
                "a peer has \(counts.count + 1) subscriptions", SyncLimits.queries,
                "cancel some, or combine queries of one collection with OR or IN")
        }
        let newLength = length + wire.length
        guard newLength <= SyncLimits.subscriptionLength else {
            throw Self.excess(
                "the subscriptions of a peer have \(newLength) bytes of text and arguments together",
                SyncLimits.subscriptionLength, "cancel some, or shorten their queries")
        }
        let limit = SyncLimits.rankedDocuments
        let newRanked = ranked + min(query.limit ?? 0, limit + 1)
        guard newRanked <= limit else {
            throw StoreError(
                .limit, "the LIMITs of all subscriptions exceed \(limit) documents in total")
        }
        counts[wire] = 1
        (length, ranked) = (newLength, newRanked)
    }

    /// Removes one occurrence of a query.
    package mutating func remove(_ query: SubscriptionQuery) {
        let wire = query.wire
        guard let count = counts[wire] else { return }
        guard count == 1 else {
            counts[wire] = count - 1
            return
        }
        counts[wire] = nil
        length -= wire.length
        ranked -= min(query.limit ?? 0, SyncLimits.rankedDocuments + 1)
    }

    private static func check(_ wire: SubscribedQuery) throws(StoreError) {
        let hint = "pass long lists as documents of a collection, or subscribe to a wider query"
        let length = wire.text.utf8.count
        guard length <= SyncLimits.queryLength else {
            throw excess(
                "the query of a subscription has \(length) bytes", SyncLimits.queryLength, hint)
        }
        guard wire.arguments.count <= SyncLimits.argumentsLength else {
            throw excess(
                "the arguments of a subscription have \(wire.arguments.count) bytes",
                SyncLimits.argumentsLength, hint)
        }
    }

    private static func excess(_ finding: String, _ limit: Int, _ hint: String) -> StoreError {
        StoreError(.limit, "\(finding); \(limit) are allowed", hint: hint)
    }
}

extension SubscriptionQuery {
    /// Returns the queries without duplicates and without those that another query covers.
    static func effective(_ queries: [SubscriptionQuery]) -> [SubscriptionQuery] {
        if let all = queries.first(where: \.selectsAllCollections) { return [all] }
        var complete: Set<[UInt8]> = []
        for query in queries where query.matchesAll { complete.insert(query.collectionBytes) }
        var (seen, seenComplete): (Set<SubscribedQuery>, Set<[UInt8]>) = ([], [])
        return queries.filter { query in
            let name = query.collectionBytes
            guard complete.contains(name) else { return seen.insert(query.wire).inserted }
            return query.matchesAll && seenComplete.insert(name).inserted
        }
    }

    private var collectionBytes: [UInt8] { Array((collection ?? "").utf8) }
}
