import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStorage

/// The progress of a scan that ranks the documents of a collection.
struct RankingWalk {
    var ranking: Ranking
    /// The key of the document at which to continue.
    var position: [UInt8]?
}

/// A resumable scan that ranks the documents of all queries with a LIMIT.
struct RankingScan {
    let snapshot: DocumentSnapshot
    private let factor: Int
    /// The rankings of the completed queries.
    private(set) var rankings = SubscriptionRankings()
    /// The index in `SubscriptionMatcher.subscribed` of the query at which to continue.
    private var number = 0
    private var walk: RankingWalk?

    /// Creates a scan that keeps `factor` times as many documents as each LIMIT.
    package init(_ snapshot: DocumentSnapshot, widenedBy factor: Int = 1) {
        (self.snapshot, self.factor) = (snapshot, factor)
    }

    /// Ranks the remaining documents; must be called again after `EngineError.paused`.
    package mutating func run(
        _ matcher: SubscriptionMatcher, _ filter: SubscriptionRankings.Filter?
    ) throws(EngineError) {
        guard matcher.isRanked else { return }
        while number < matcher.subscribed.count {
            let query = matcher.subscribed[number]
            if let limit = query.limit, let collection = query.collection {
                let (wide, isTooWide) = limit.multipliedReportingOverflow(by: factor)
                let ranking = try matcher.ranking(
                    of: query, number, in: snapshot, limit: isTooWide ? .max : wide, filter, &walk)
                let floor = ranking.isFull ? ranking.rows.last : nil
                rankings.terms.append(
                    SubscriptionRankings.Term(
                        query: query, collection: collection, number: number, ranking: ranking,
                        floor: floor))
            }
            number += 1
        }
    }
}

/// A resumable update of rankings to a newer snapshot.
package struct RankingAdvance {
    /// The progress of one query.
    private enum Phase {
        /// The changed documents are ranked, beginning with `next`.
        case changes(next: Int)
        /// All documents are ranked again.
        case all(RankingWalk?)
        /// The documents that left the ranking are processed, beginning with `next`.
        case departures([[UInt8]], next: Int)
    }

    let snapshot: DocumentSnapshot
    /// The keys of the changed documents; nil if unknown.
    private let changed: [[UInt8]]?
    private let old: SubscriptionRankings
    /// The rankings of the newer snapshot, once `run` has returned.
    package private(set) var rankings: SubscriptionRankings
    private var index = 0
    private var phase = Phase.changes(next: 0)

    package init(
        _ rankings: SubscriptionRankings, to snapshot: DocumentSnapshot, changed: [[UInt8]]?
    ) {
        (old, self.rankings) = (rankings, rankings)
        (self.snapshot, self.changed) = (snapshot, changed)
    }

    /// Updates the remaining rankings; must be called again after `EngineError.paused`.
    package mutating func run(
        _ matcher: SubscriptionMatcher, _ filter: SubscriptionRankings.Filter?
    ) throws(EngineError) {
        while index < rankings.terms.count {
            let collection = rankings.terms[index].collection
            if let number = snapshot.catalog.number(ofCollection: collection) {
                try advance(matcher, filter, number)
            }
            index += 1
            phase = .changes(next: 0)
        }
    }

    /// Updates the ranking of one query, phase by phase.
    private mutating func advance(
        _ matcher: SubscriptionMatcher, _ filter: SubscriptionRankings.Filter?,
        _ collection: UInt16
    ) throws(EngineError) {
        if case .changes(let next) = phase {
            let isKnown = try rankChanges(from: next, matcher, filter, collection)
            if isKnown {
                phase = .departures(departed, next: 0)
            } else {
                rankings.terms[index].ranking = old.terms[index].ranking
                phase = .all(nil)
            }
        }
        if case .all(var walk) = phase {
            let term = rankings.terms[index]
            do throws(EngineError) {
                rankings.terms[index].ranking.replace(
                    with: try matcher.ranking(
                        of: term.query, term.number, in: snapshot, limit: term.query.limit ?? 0,
                        filter, &walk))
            } catch {
                phase = .all(walk)
                throw error
            }
            phase = .departures(departed, next: 0)
        }
        if case .departures(let ids, let next) = phase {
            try recordDepartures(ids, from: next, matcher, filter, collection)
        }
    }

    /// Ranks the changed documents; returns false if all documents must be ranked.
    private mutating func rankChanges(
        from first: Int, _ matcher: SubscriptionMatcher, _ filter: SubscriptionRankings.Filter?,
        _ collection: UInt16
    ) throws(EngineError) -> Bool {
        guard let changed else { return false }
        for number in first..<changed.count {
            let key = changed[number]
            guard key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }) == collection
            else { continue }
            phase = .changes(next: number)
            let row = try matcher.rank(key, rankings.terms[index].number, in: snapshot, filter)
            let id = Array(key[StoreKey.documentPrefixLength...])
            guard rankings.terms[index].ranking.update(id, row) else { return false }
        }
        return true
    }

    /// The ids of the documents that left the ranking, in ascending order.
    private var departed: [[UInt8]] {
        let before = old.terms[index].ranking
        return rankings.terms[index].ranking.left.filter { before.contains($0) }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Lowers the floor to the first document that left the ranking and still matches.
    ///
    /// These documents are sent once more; afterwards the peer may have outdated states of them.
    private mutating func recordDepartures(
        _ ids: [[UInt8]], from first: Int, _ matcher: SubscriptionMatcher,
        _ filter: SubscriptionRankings.Filter?, _ collection: UInt16
    ) throws(EngineError) {
        let before = old.terms[index].ranking
        for number in first..<ids.count {
            phase = .departures(ids, next: number)
            let key = StoreKey.document(collection: collection, id: ids[number]).bytes
            let row: Ranking.Row?
            if let filter, try !isVisible(key, to: filter) {
                // The peer keeps the last state that it could read.
                row = before.row(of: ids[number])
            } else {
                row = try matcher.rank(key, rankings.terms[index].number, in: snapshot, nil)
            }
            guard let row else { continue }
            let floor = rankings.terms[index].floor
            if floor.map({ before.precedes(row, $0) }) ?? true { rankings.terms[index].floor = row }
        }
    }

    /// Whether a filter lets the peer read the current state of a document.
    private func isVisible(
        _ key: [UInt8], to filter: SubscriptionRankings.Filter
    ) throws(EngineError) -> Bool {
        guard let document = try snapshot.document(key), let address = snapshot.address(of: key)
        else { return false }
        return try filter(document, key, address)
    }
}
