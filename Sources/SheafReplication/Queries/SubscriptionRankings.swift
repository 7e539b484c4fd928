import SheafBytes
package import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// The results of a subscription's queries with ORDER BY and LIMIT, in one snapshot.
package struct SubscriptionRankings {
    /// A query and its ranking.
    package struct Term {
        let query: SubscriptionQuery
        let collection: String
        /// The index of the query in `SubscriptionMatcher.subscribed`.
        let number: Int
        var ranking: Ranking
        /// The first document that the peer may have in an outdated state; nil if there is none.
        ///
        /// Any document ranked after it may be outdated at the peer.
        var floor: Ranking.Row?
    }

    /// A predicate for the documents that the peer may read; only these are ranked.
    package typealias Filter = (StoredDocument, [UInt8], DocumentAddress) throws(EngineError) ->
        Bool

    var terms: [Term] = []

    /// The documents of all rankings, in the order of the queries.
    package var addresses: [DocumentAddress] {
        terms.flatMap { term in
            term.ranking.rows.map {
                DocumentAddress(collection: term.collection, id: $0.id)
            }
        }
    }

    /// Whether every ranking contains all matching documents of its query.
    package var areAll: Bool { terms.allSatisfy { !$0.ranking.isFull } }

    /// Returns the encoded ids of the ranked documents of a collection.
    func ids(in collection: String) -> Set<[UInt8]> {
        var ids: Set<[UInt8]> = []
        forEach(in: collection) { $0.rows.forEach { ids.insert($0.id) } }
        return ids
    }

    /// Whether a document is ranked, and whether it was before the recorded changes.
    package func contains(_ key: [UInt8], in collection: String) -> (now: Bool, before: Bool) {
        let id = Array(key[StoreKey.documentPrefixLength...])
        var found = (now: false, before: false)
        forEach(in: collection) { ranking in
            found.now = found.now || ranking.contains(id)
            found.before = found.before || ranking.contained(id)
        }
        return found
    }

    /// Returns the keys of the documents that entered a ranking in the recorded changes, in order.
    package func entered(_ directory: Catalog) -> [[UInt8]] {
        var keys: Set<[UInt8]> = []
        for term in terms {
            guard let number = directory.number(ofCollection: term.collection) else {
                continue
            }
            for id in term.ranking.entered {
                keys.insert(StoreKey.document(collection: number, id: id).bytes)
            }
        }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    package mutating func discardChanges() {
        for index in terms.indices { terms[index].ranking.clearChanges() }
    }

    private func forEach(in collection: String, _ body: (Ranking) -> Void) {
        for term in terms where Array(term.collection.utf8) == Array(collection.utf8) {
            body(term.ranking)
        }
    }

    /// Whether no document outdated at the peer can rank before a document in these rankings.
    package var areSure: Bool {
        terms.allSatisfy { term in
            guard let floor = term.floor else { return true }
            // The ranking is below its LIMIT, so the peer would also select an outdated document.
            guard term.ranking.isFull else { return false }
            guard let last = term.ranking.rows.last else { return true }
            return !term.ranking.precedes(floor, last)
        }
    }
}

extension SubscriptionMatcher {
    /// Returns the first documents of each query with a LIMIT, `factor` times as many as the LIMIT.
    ///
    /// With a filter, only documents that pass it are ranked: a rank among all would reveal hidden
    /// ones.
    package func rankings(
        in snapshot: DocumentSnapshot, widenedBy factor: Int = 1,
        where filter: SubscriptionRankings.Filter?
    ) throws(EngineError) -> SubscriptionRankings {
        var scan = RankingScan(snapshot, widenedBy: factor)
        try scan.run(self, filter)
        return scan.rankings
    }

    /// Returns the first documents of one query.
    ///
    /// After `EngineError.paused` it must be called again with the same `walk`.
    func ranking(
        of query: SubscriptionQuery, _ number: Int, in snapshot: DocumentSnapshot, limit: Int,
        _ filter: SubscriptionRankings.Filter?, _ walk: inout RankingWalk?
    ) throws(EngineError) -> Ranking {
        if walk == nil {
            if filter == nil,
                let ranking = try indexedRanking(of: query, in: snapshot, limit: limit)
            {
                return ranking
            }
            let isDescending = try isDescending(number, snapshot.names)
            walk = RankingWalk(ranking: Ranking(isDescending: isDescending, limit: limit))
        }
        let collection = query.collection ?? ""
        try snapshot.forEachDocument(of: collection, from: walk?.position ?? []) {
            (key, document) throws(EngineError) in
            walk?.position = key
            try visit()
            // The filter is evaluated first: the time of the condition would reveal hidden
            // documents.
            let id = Array(key[StoreKey.documentPrefixLength...])
            if let filter {
                let address = DocumentAddress(collection: collection, id: id)
                guard try filter(document, key, address) else { return true }
            }
            guard let row = try rank(document, key: key, inQuery: number, snapshot.names) else {
                return true
            }
            _ = walk?.ranking.update(id, row)
            return true
        }
        walk?.ranking.clearChanges()
        defer { walk = nil }
        return walk?.ranking ?? Ranking(isDescending: [], limit: limit)
    }

    /// Returns the first documents of a query by running it as a statement, which can use an index.
    ///
    /// Returns nil if that exceeds one evaluation slice.
    private func indexedRanking(
        of query: SubscriptionQuery, in snapshot: DocumentSnapshot, limit: Int
    ) throws(EngineError) -> Ranking? {
        guard meter?.isTurnOver != true else { throw .paused }
        meter?.begin(limit: SyncLimits.evaluationUnitsPerTurn)
        do throws(StoreError) {
            guard let run = run(query, on: snapshot),
                case .select(let watched, _) = try run.observedChanges()
            else {
                throw StoreError(.meaning, "a subscription depends on the current time")
            }
            return try Ranking(watched, run, limit: limit)
        } catch {
            if error.reason == .limit, let meter, !meter.isExhausted { return nil }
            throw .evaluation(error)
        }
    }

    /// Returns the row of a document; nil if it does not match or does not pass the filter.
    func rank(
        _ key: [UInt8], _ number: Int, in snapshot: DocumentSnapshot,
        _ filter: SubscriptionRankings.Filter?
    ) throws(EngineError) -> Ranking.Row? {
        guard let document = try snapshot.document(key) else { return nil }
        if let filter {
            guard let address = snapshot.address(of: key), try filter(document, key, address)
            else { return nil }
        }
        return try rank(document, key: key, inQuery: number, snapshot.names)
    }
}
