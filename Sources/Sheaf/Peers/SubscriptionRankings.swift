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
        fileprivate let number: Int
        var ranking: Ranking
        /// The first of the documents that the other side may have and is not told of any more.
        ///
        /// What comes behind it may be something else there. None where there is no such document.
        var floor: Ranking.Row?
    }

    /// Whether the other side may know a document; what it may not know has no rank.
    typealias Filter = (StoredDocument, [UInt8], DocumentAddress) throws(EngineError) -> Bool

    fileprivate(set) var terms: [Term]

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

    /// Moves on to a newer state; false where the other side may have documents that it would take for
    /// some of these, since they were better when it was told of them last.
    ///
    /// `changed` are the keys of the documents that differ; none where these are not known.
    mutating func advance(
        to snapshot: DocumentSnapshot, changed: [[UInt8]]?, _ matcher: SubscriptionMatcher,
        where filter: Filter?
    ) throws(EngineError) -> Bool {
        var isSure = true
        for index in terms.indices {
            try matcher.advance(&terms[index], to: snapshot, changed, filter)
            let term = terms[index]
            guard let floor = term.floor else { continue }
            guard term.ranking.isFull, let last = term.ranking.rows.last else {
                // All that match are here, and there were more once.
                if !term.ranking.isFull { isSure = false }
                continue
            }
            if term.ranking.precedes(floor, last) { isSure = false }
        }
        return isSure
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
        var terms: [SubscriptionRankings.Term] = []
        for (number, query) in subscribed.enumerated() {
            guard let limit = query.limit else { continue }
            let (wide, isTooWide) = limit.multipliedReportingOverflow(by: factor)
            let ranking = try ranking(
                of: query, number, in: snapshot, limit: isTooWide ? .max : wide, filter)
            let floor = ranking.isFull ? ranking.rows.last : nil
            terms.append(
                SubscriptionRankings.Term(
                    query: query, number: number, ranking: ranking, floor: floor))
        }
        return SubscriptionRankings(terms: terms)
    }

    fileprivate func advance(
        _ term: inout SubscriptionRankings.Term, to snapshot: DocumentSnapshot,
        _ changed: [[UInt8]]?, _ filter: SubscriptionRankings.Filter?
    ) throws(EngineError) {
        let (query, old) = (term.query, term.ranking)
        guard let number = snapshot.directory.number(ofCollection: query.collection) else { return }
        var isKnown = changed != nil
        for key in changed ?? []
        where key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }) == number {
            let row = try rank(key, term.number, in: snapshot, filter)
            isKnown = term.ranking.take(Array(key[StoreKey.documentPrefixLength...]), row)
            if !isKnown { break }
        }
        if !isKnown {
            term.ranking = old
            term.ranking.replace(
                with: try ranking(
                    of: query, term.number, in: snapshot, limit: query.limit ?? 0, filter))
        }
        // What has left and still matches is told of once more, and then it is as good as unknown.
        for id in term.ranking.left where old.contains(id) {
            let key = StoreKey.document(collection: number, id: id).bytes
            let row: Ranking.Row?
            if let filter, try !isVisible(key, in: snapshot, to: filter) {
                // The other side keeps the document as it was when it knew of it.
                row = old.row(of: id)
            } else {
                row = try rank(key, term.number, in: snapshot, nil)
            }
            guard let row else { continue }
            if term.floor.map({ old.precedes(row, $0) }) ?? true { term.floor = row }
        }
    }

    private func ranking(
        of query: SubscriptionQuery, _ number: Int, in snapshot: DocumentSnapshot, limit: Int,
        _ filter: SubscriptionRankings.Filter?
    ) throws(EngineError) -> Ranking {
        guard let filter else { return try ranking(of: query, in: snapshot, limit: limit) }
        var ranking = Ranking(isDescending: try isDescending(number, snapshot.names), limit: limit)
        let collection = query.collection
        try snapshot.forEachDocument(of: collection) { (key, document) throws(EngineError) in
            // The filter decides first: the time that a condition takes would tell of the document, too.
            let id = Array(key[StoreKey.documentPrefixLength...])
            guard
                try filter(document, key, DocumentAddress(collection: collection, id: id)),
                let row = try rank(document, key: key, inQuery: number, snapshot.names)
            else { return true }
            _ = ranking.take(id, row)
            return true
        }
        ranking.forgetChanges()
        return ranking
    }

    private func ranking(
        of query: SubscriptionQuery, in snapshot: DocumentSnapshot, limit: Int
    ) throws(EngineError) -> Ranking {
        do throws(QueryError) {
            let run = run(query, on: snapshot)
            guard case .select(let watched, _) = try run.watch() else {
                throw QueryError(.meaning, "a subscription that depends on the time")
            }
            return try Ranking(watched, run, limit: limit)
        } catch {
            throw .damaged(
                key: Array(query.collection.utf8),
                .invalid("documents that cannot be ranked", at: 0))
        }
    }

    private func rank(
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

    /// Whether a filter lets the other side know a document as it is.
    private func isVisible(
        _ key: [UInt8], in snapshot: DocumentSnapshot, to filter: SubscriptionRankings.Filter
    ) throws(EngineError) -> Bool {
        guard let document = try snapshot.document(key), let address = snapshot.address(of: key)
        else { return false }
        return try filter(document, key, address)
    }
}
