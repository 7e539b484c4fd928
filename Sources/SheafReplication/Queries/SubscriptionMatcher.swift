import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafQuery
package import SheafStatements
import SheafStorage
import SheafSync
package import SheafSystem

/// An evaluator of the queries of a subscription on documents.
///
/// Only one thread at a time may use it.
package final class SubscriptionMatcher {
    private final class Term {
        let query: SubscriptionQuery
        var watched: IncrementalViewDefinition?
        /// Cost of evaluation on 64 bytes of a document, derived from the length of the query.
        let weight: Int

        init(_ query: SubscriptionQuery) {
            self.query = query
            weight = 1 + query.text.utf8.count / 16
        }
    }

    /// The handling of errors in the evaluation of a query on a document.
    package enum ErrorPolicy {
        case throwing
        /// The document does not match; only damaged documents and cancellation throw an error.
        case mismatching
        /// Like `mismatching`, except that exceeding a limit also throws an error.
        case mismatchingWithinLimits

        fileprivate func throwsError(_ reason: StoreError.Reason) -> Bool {
            switch self {
            case .throwing: true
            // A canceled evaluation has no result.
            case .mismatching: reason == .damaged || reason == .cancelled
            case .mismatchingWithinLimits:
                reason == .damaged || reason == .cancelled || reason == .limit
            }
        }
    }

    /// The queries in order of subscription, without those that other queries cover.
    let subscribed: [SubscriptionQuery]
    /// Whether a query has a LIMIT, so that its result depends on more than one document.
    let isRanked: Bool
    private let ranked: Set<[UInt8]>
    private let queries: QueryEngine
    /// The meter of the evaluation cost; nil if the cost is not measured.
    let meter: EvaluationMeter?
    /// Whether document and query lengths count, in addition to function arguments and results.
    private let chargesLength: Bool
    private let errorPolicy: ErrorPolicy
    /// Whether an error of the rule was logged.
    private var hasLoggedError = false
    /// The filter that decides, before queries are evaluated, whether the peer may read a document.
    ///
    /// Otherwise the cost of a query would depend on documents that the peer may not read.
    private let filter: SubscriptionRankings.Filter?
    /// The progress of the evaluation that was interrupted last.
    private var resumption: MatchResumption?
    /// The last requested collection, usually requested again, and its terms without LIMIT.
    private var last: (collection: String, terms: [Term]?) = ("", nil)
    /// One term for each query.
    private let terms: [Term]
    /// The terms without LIMIT, by the UTF-8 bytes of their collections.
    private var plain: [[UInt8]: [Term]] = [:]
    /// The query of all collections, if there is one; it is the only one then.
    private let all: [Term]?
    /// The named collections, without duplicates.
    let named: [String]
    private let names: Set<[UInt8]>

    package convenience init(_ queries: [SubscriptionQuery], _ engine: QueryEngine) {
        self.init(queries, engine, meter: nil, where: nil)
    }

    /// Creates a matcher without a cost limit; `stop` cancels its evaluations.
    package convenience init(
        _ queries: [SubscriptionQuery], _ engine: QueryEngine, stop: EvaluationStop?
    ) {
        self.init(queries, engine, meter: .unlimited(stop: stop), where: nil)
    }

    /// Creates a matcher for a rule that decides which stored documents a peer may read or write.
    ///
    /// Errors are handled as `.mismatching`, since they would reveal properties of unreadable
    /// documents. Without a meter the cost is not limited; `stop` cancels the evaluations.
    package convenience init(
        rule: [SubscriptionQuery], _ engine: QueryEngine, meter: EvaluationMeter? = nil,
        stop: EvaluationStop?
    ) {
        self.init(
            rule, engine, meter: meter ?? .unlimited(stop: stop), where: nil,
            errorPolicy: .mismatching)
    }

    package init(
        _ queries: [SubscriptionQuery], _ engine: QueryEngine, meter: EvaluationMeter?,
        where filter: SubscriptionRankings.Filter?, chargesLength: Bool = true,
        errorPolicy: ErrorPolicy = .throwing
    ) {
        (self.meter, self.filter) = (meter, filter)
        (self.chargesLength, self.errorPolicy) = (chargesLength, errorPolicy)
        let subscribed = SubscriptionQuery.effective(queries)
        self.subscribed = subscribed
        self.queries = engine
        terms = subscribed.map(Term.init)
        all = subscribed.contains(where: \.selectsAllCollections) ? terms : nil
        var (named, names): ([String], Set<[UInt8]>) = ([], [])
        var ranked: Set<[UInt8]> = []
        for term in terms {
            guard let collection = term.query.collection else { continue }
            let name = Array(collection.utf8)
            if names.insert(name).inserted { named.append(collection) }
            if term.query.limit == nil {
                plain[name, default: []].append(term)
            } else {
                ranked.insert(name)
            }
        }
        (self.named, self.names) = (named, names)
        (self.ranked, isRanked) = (ranked, !ranked.isEmpty)
    }

    /// Whether a query selects from a collection.
    func selects(for collection: String) -> Bool {
        guard all == nil else { return !collection.isReservedCollection }
        return names.contains(Array(collection.utf8))
    }

    /// Returns the collections from which the queries select, without duplicates.
    ///
    /// Those of a query of all collections are in the order of their names: their numbers depend on
    /// collections that the peer may not read. If the peer may read only some, `readable` names
    /// these: the others must not cost it time.
    func collections(in snapshot: DocumentSnapshot, readable: [String]? = nil) -> [String] {
        guard all != nil else { return named }
        return (readable ?? snapshot.catalog.collections).filter { !$0.isReservedCollection }
            .sorted { UTF8Order.compare($0, $1) < 0 }
    }

    /// Whether a query without LIMIT selects from a collection.
    func selectsWithoutLimit(for collection: String) -> Bool { plainTerms(of: collection) != nil }

    /// Whether every existing document of a collection matches.
    func matchesAll(in collection: String) -> Bool {
        guard let terms = plainTerms(of: collection) else { return false }
        return terms.contains { $0.query.matchesAll }
    }

    /// Returns the versions of exactly the matching documents of a collection, if these are one
    /// range of keys.
    func storedVersions(
        of collection: String, in snapshot: DocumentSnapshot
    ) -> StoredVersions? {
        guard all == nil else { return StoredVersions(snapshot, collection) }
        // A scan reports the error of a query.
        guard !hasLimit(in: collection), let terms = plainTerms(of: collection), terms.count == 1,
            let range = try? run(terms[0].query, on: snapshot)?.orderedRange()
        else { return nil }
        return StoredVersions(snapshot, collection, range)
    }

    /// Whether a query with LIMIT selects from a collection.
    func hasLimit(in collection: String) -> Bool {
        isRanked && ranked.contains(Array(collection.utf8))
    }

    private func plainTerms(of collection: String) -> [Term]? {
        if let all { return collection.isReservedCollection ? nil : all }
        if UTF8Order.compare(collection, last.collection) != 0 {
            last = (collection, plain[Array(collection.utf8)])
        }
        return last.terms
    }

    /// Whether a state of a document matches one of the queries without LIMIT.
    func matches(
        _ document: EncodedDocument, id: UnsafeRawBufferPointer, in collection: String,
        nameCount: Int, of transaction: DocumentTransaction? = nil
    ) throws(StoreError) -> Bool {
        guard let terms = plainTerms(of: collection) else { return false }
        let fields = try Self.fields(of: document)
        guard let fields else { return false }
        // A query that matches all documents covers all others of its collection.
        if terms.count == 1, terms[0].query.matchesAll { return true }
        let scanned = ScannedDocument(fields, id: id, position: 0, isLasting: false)
        var next = 0
        switch resumption?[document] {
        case .done(let matches)?: return matches
        case .next(let term)?: next = term
        case nil: break
        }
        var matches = false
        while next < terms.count, !matches {
            if meter?.isTurnOver == true {
                resumption?[document] = .next(term: next)
                throw Self.pause
            }
            let term = terms[next]
            next += 1
            try charge(term, document)
            guard let watched = try watched(term, nameCount, transaction) else { continue }
            matches = try watched.matches(scanned)
        }
        if resumption != nil { resumption?[document] = .done(matches) }
        return matches
    }

    /// The error that represents `EngineError.paused` where only query errors can be thrown.
    private static let pause = StoreError(.failed, "the evaluation is paused")

    /// Counts the visit of a document; throws if the slice is used up or the peer stops.
    func visit() throws(EngineError) {
        guard let meter else { return }
        guard !meter.isTurnOver else { throw .paused }
        do throws(StoreError) { try meter.checkStop() } catch { throw .evaluation(error) }
        meter.countVisit()
    }

    private func charge(_ term: Term, _ document: EncodedDocument) throws(StoreError) {
        guard let meter else { return }
        meter.begin(limit: SyncLimits.evaluationUnitsOnDocument)
        guard chargesLength else { return }
        try meter.charge(term.weight * (1 + document.bytes.count / 64))
    }

    private static func fields(of document: EncodedDocument) throws(StoreError) -> EncodedObject? {
        do throws(Malformed) { return try document.existingFields() } catch {
            throw StoreError(error)
        }
    }

    /// Returns the compiled query; compiles it again if the name dictionary has grown.
    private func watched(
        _ term: Term, _ nameCount: Int, _ transaction: DocumentTransaction?
    ) throws(StoreError) -> IncrementalViewDefinition? {
        if let watched = term.watched, watched.nameCount >= nameCount { return watched }
        guard let statement = term.query.statement else { return nil }
        let run = queries.subscriptionRun(statement, term.query.arguments, in: transaction, meter)
        guard case .select(let watched, _) = try run.observedChanges() else { return nil }
        term.watched = watched
        return watched
    }

    /// Whether a stored document matches one of the queries without LIMIT; false for nil.
    func matches(
        _ document: StoredDocument?, key: [UInt8], in collection: String, _ names: NameTable,
        of transaction: DocumentTransaction? = nil
    ) throws(EngineError) -> Bool {
        guard let document, selectsWithoutLimit(for: collection) else { return false }
        if let filter {
            let id = Array(key[StoreKey.documentPrefixLength...])
            let address = DocumentAddress(collection: collection, id: id)
            guard try filter(document, key, address) else { return false }
        }
        if let resumption, resumption.key != key {
            // When the slice is used up, another document must not discard the progress of the
            // interrupted one.
            guard meter?.isTurnOver != true else { throw .paused }
            self.resumption = nil
        }
        do throws(EngineError) {
            return try read(document, key) { (encoded, id) throws(StoreError) in
                try matches(
                    encoded, id: id, in: collection, nameCount: names.count, of: transaction)
            }
        } catch {
            if case .evaluation(let failure) = error, !errorPolicy.throwsError(failure.reason) {
                logError(failure)
                return false
            }
            if error == .paused, resumption == nil { resumption = MatchResumption(key) }
            throw error
        }
    }

    /// Logs the first error of a rule, since it is not sent to the peer.
    private func logError(_ error: StoreError) {
        guard !hasLoggedError else { return }
        hasLoggedError = true
        queries.log?.write(
            .warning,
            "a rule cannot be evaluated on a document and denies access to it",
            ["reason": error.message])
    }

    /// Returns the row of a stored document in the ranking of a query; nil if it does not match.
    func rank(
        _ document: StoredDocument, key: [UInt8], inQuery number: Int, _ names: NameTable
    ) throws(EngineError) -> Ranking.Row? {
        try read(document, key) { (encoded, id) throws(StoreError) in
            guard let fields = try Self.fields(of: encoded) else { return nil }
            let scanned = ScannedDocument(fields, id: id, position: 0, isLasting: false)
            guard meter?.isTurnOver != true else { throw Self.pause }
            try charge(terms[number], encoded)
            return try watched(terms[number], names.count, nil)?.rank(scanned)
        }
    }

    /// Whether each ORDER BY term of a query is descending.
    func isDescending(_ number: Int, _ names: NameTable) throws(EngineError) -> [Bool] {
        do throws(StoreError) {
            return try watched(terms[number], names.count, nil)?.isDescending ?? []
        } catch {
            throw .evaluation(error)
        }
    }

    private func read<Answer>(
        _ document: StoredDocument, _ key: [UInt8],
        _ body: (EncodedDocument, UnsafeRawBufferPointer) throws(StoreError) -> Answer
    ) throws(EngineError) -> Answer {
        let result: Result<Answer, StoreError> = key.span.withUnsafeBytes { key in
            let id = UnsafeRawBufferPointer(rebasing: key.dropFirst(StoreKey.documentPrefixLength))
            return document.read { bytes in
                do throws(StoreError) {
                    let encoded: EncodedDocument
                    do throws(Malformed) { encoded = try EncodedDocument(bytes) } catch {
                        throw StoreError(error)
                    }
                    return .success(try body(encoded, id))
                } catch {
                    return .failure(error)
                }
            }
        }
        switch result {
        case .success(let answer): return answer
        case .failure(Self.pause): throw .paused
        case .failure(let error): throw .evaluation(error)
        }
    }

    /// Returns an untimed run on a snapshot, charged to the meter of the matcher.
    ///
    /// Returns nil for a query of all collections, which is no statement.
    package func run(_ query: SubscriptionQuery, on snapshot: DocumentSnapshot) -> QueryRun? {
        query.statement.map { queries.subscriptionRun($0, query.arguments, on: snapshot, meter) }
    }
}

extension QueryEngine {
    /// Returns an untimed run on the state of a transaction or the newest durable snapshot.
    fileprivate func subscriptionRun(
        _ statement: Statement, _ arguments: ArgumentValues, in transaction: DocumentTransaction?,
        _ meter: EvaluationMeter?
    ) -> QueryRun {
        let parameters = parameters
        let reader =
            transaction?.reader(parameters.collections, pastStates, storeNumber: number)
            ?? reader(parameters)
        return makeRun(statement, arguments, parameters, on: reader, isTimed: false, meter: meter)
    }

    fileprivate func subscriptionRun(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot,
        _ meter: EvaluationMeter?
    ) -> QueryRun {
        let parameters = parameters
        return makeRun(
            statement, arguments, parameters, on: reader(of: snapshot, parameters), isTimed: false,
            meter: meter)
    }
}
