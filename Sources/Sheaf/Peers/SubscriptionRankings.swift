import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// Which documents the queries of a subscription with ORDER BY and LIMIT have, in one state.
struct SubscriptionRankings {
    /// One query, and its documents.
    struct Term {
        let query: SubscriptionQuery
        /// Which one it is of all that were subscribed to.
        let number: Int
        var ranking: Ranking
        /// The first of the documents that the other side may have and is not told of any more.
        ///
        /// What comes behind it may be something else there. None where there is no such document.
        var floor: Ranking.Row?
    }

    /// Whether the other side may know a document; what it may not know has no rank.
    typealias Filter = (StoredDocument, [UInt8], DocumentAddress) throws(EngineError) -> Bool

    var terms: [Term] = []

    /// All documents, each where it comes first.
    var addresses: [DocumentAddress] {
        terms.flatMap { term in
            term.ranking.rows.map {
                DocumentAddress(collection: term.query.collection, id: $0.id)
            }
        }
    }

    /// Whether no query has more documents that match than its LIMIT lets in.
    var areAll: Bool { terms.allSatisfy { !$0.ranking.isFull } }

    /// The documents of a collection, by their ids as keys have them.
    func ids(in collection: String) -> Set<[UInt8]> {
        var ids: Set<[UInt8]> = []
        forEach(in: collection) { $0.rows.forEach { ids.insert($0.id) } }
        return ids
    }

    /// Whether a document is among them, and whether it was when changes were forgotten.
    func contains(_ key: [UInt8], in collection: String) -> (now: Bool, before: Bool) {
        let id = Array(key[StoreKey.documentPrefixLength...])
        var found = (now: false, before: false)
        forEach(in: collection) { ranking in
            found.now = found.now || ranking.contains(id)
            found.before = found.before || ranking.contained(id)
        }
        return found
    }

    /// The keys of documents that came in since changes were forgotten.
    func entered(_ directory: Directory) -> [[UInt8]] {
        var keys: Set<[UInt8]> = []
        for term in terms {
            guard let number = directory.number(ofCollection: term.query.collection) else {
                continue
            }
            for id in term.ranking.entered {
                keys.insert(StoreKey.document(collection: number, id: id).bytes)
            }
        }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    mutating func forgetChanges() {
        for index in terms.indices { terms[index].ranking.forgetChanges() }
    }

    private func forEach(in collection: String, _ body: (Ranking) -> Void) {
        for term in terms where Array(term.query.collection.utf8) == Array(collection.utf8) {
            body(term.ranking)
        }
    }

    /// Whether the other side cannot have documents that it would take for some of these, since they were
    /// better when it was sent them last.
    var areSure: Bool {
        terms.allSatisfy { term in
            guard let floor = term.floor else { return true }
            // All that match are here, and there were more once.
            guard term.ranking.isFull else { return false }
            guard let last = term.ranking.rows.last else { return true }
            return !term.ranking.precedes(floor, last)
        }
    }
}

extension SubscriptionMatcher {
    /// Returns the first documents of each query with a LIMIT, `factor` times as many as the LIMIT.
    ///
    /// With a filter, only documents that pass it are ranked: a rank among others would tell of them.
    func rankings(
        in snapshot: DocumentSnapshot, widenedBy factor: Int = 1,
        where filter: SubscriptionRankings.Filter?
    ) throws(EngineError) -> SubscriptionRankings {
        var scan = RankingScan(snapshot, widenedBy: factor)
        try scan.run(self, filter)
        return scan.rankings
    }

    /// Returns the first documents of one query; after `EngineError.paused` it is called again with `walk` as
    /// it was left.
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
        let collection = query.collection
        try snapshot.forEachDocument(of: collection, from: walk?.position ?? []) {
            (key, document) throws(EngineError) in
            walk?.position = key
            try visit()
            // The filter decides first: the time that a condition takes would tell of the document, too.
            let id = Array(key[StoreKey.documentPrefixLength...])
            if let filter {
                let address = DocumentAddress(collection: collection, id: id)
                guard try filter(document, key, address) else { return true }
            }
            guard let row = try rank(document, key: key, inQuery: number, snapshot.names) else {
                return true
            }
            _ = walk?.ranking.take(id, row)
            return true
        }
        walk?.ranking.forgetChanges()
        defer { walk = nil }
        return walk?.ranking ?? Ranking(isDescending: [], limit: limit)
    }

    /// Returns the first documents of a query by a statement, which uses an index where there is one; nil where
    /// that costs too much to be done without an interruption.
    private func indexedRanking(
        of query: SubscriptionQuery, in snapshot: DocumentSnapshot, limit: Int
    ) throws(EngineError) -> Ranking? {
        guard meter?.isTurnOver != true else { throw .paused }
        meter?.begin(limit: SyncLimits.evaluationUnitsPerTurn)
        do throws(QueryError) {
            let run = run(query, on: snapshot)
            guard case .select(let watched, _) = try run.watch() else {
                throw QueryError(.meaning, "a subscription that depends on the time")
            }
            return try Ranking(watched, run, limit: limit)
        } catch {
            if error.reason == .limit, let meter, !meter.isExhausted { return nil }
            throw .evaluation(error)
        }
    }

    /// Returns what a document is ranked by; nil where it does not match, or a filter hides it.
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
