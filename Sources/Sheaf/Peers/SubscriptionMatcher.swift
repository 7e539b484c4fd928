import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// Says which documents match what somebody has subscribed to.
///
/// One thread at a time may use it.
package final class SubscriptionMatcher {
    private final class Term {
        let query: SubscriptionQuery
        var watched: WatchedSelect?
        /// What it costs to evaluate the query on 64 bytes of a document: by the length of its text.
        let weight: Int

        init(_ query: SubscriptionQuery) {
            self.query = query
            weight = 1 + query.statement.text.utf8.count / 16
        }
    }

    /// What happens where a query cannot be evaluated on a document.
    enum ErrorPolicy {
        case throwing
        /// The document does not match; an error is thrown only if the document is damaged or the peer stops.
        case mismatching
        /// The same, but a query that exceeds a limit throws an error.
        case mismatchingWithinLimits

        fileprivate func throwsError(_ reason: QueryError.Reason) -> Bool {
            switch self {
            case .throwing: true
            // A rule whose evaluation the end of the peer has cancelled says nothing of the document.
            case .mismatching: reason == .damaged || reason == .cancelled
            case .mismatchingWithinLimits:
                reason == .damaged || reason == .cancelled || reason == .limit
            }
        }
    }

    /// What was subscribed to, in that order, without what other queries cover.
    let subscribed: [SubscriptionQuery]
    /// Whether a query has a LIMIT, so that one document does not tell whether it belongs to it.
    let isRanked: Bool
    private let ranked: Set<[UInt8]>
    private let queries: QueryEngine
    /// What counts the cost of evaluation; none where it may cost anything.
    let meter: EvaluationMeter?
    /// Whether the lengths of documents and queries count, besides the arguments and results of functions.
    private let chargesLength: Bool
    private let errorPolicy: ErrorPolicy
    /// Whether the log has such an error of the rule.
    private var hasLoggedError = false
    /// What decides, before a query is evaluated on a document, whether the other side may read it.
    ///
    /// Otherwise the cost of a query would depend on documents that the other side may not read.
    private let filter: SubscriptionRankings.Filter?
    /// The document whose evaluation was interrupted last.
    private var resumption: MatchResumption?
    /// The last collection that was asked about, and what asks plainly for it: mostly it is the same again.
    private var last: (collection: String, terms: [Term]?) = ("", nil)
    /// One for each query.
    private let terms: [Term]
    /// Those that each document tells of by itself, by the bytes of the names of their collections.
    private var plain: [[UInt8]: [Term]] = [:]
    /// The collections that are asked for, each once.
    let collections: [String]
    private let names: Set<[UInt8]>

    package convenience init(_ queries: [SubscriptionQuery], _ engine: QueryEngine) {
        self.init(queries, engine, meter: nil, where: nil)
    }

    /// Creates a matcher whose evaluations may cost anything, until `stop` ends them.
    convenience init(
        _ queries: [SubscriptionQuery], _ engine: QueryEngine, stop: EvaluationStop?
    ) {
        self.init(queries, engine, meter: .unlimited(stop: stop), where: nil)
    }

    /// Creates a matcher for what a peer may read or write of stored documents.
    ///
    /// An error would show the peer something of a document that it may not read. Without a meter its evaluations may
    /// cost anything, until `stop` ends them.
    convenience init(
        rule: [SubscriptionQuery], _ engine: QueryEngine, meter: EvaluationMeter? = nil,
        stop: EvaluationStop?
    ) {
        self.init(
            rule, engine, meter: meter ?? .unlimited(stop: stop), where: nil,
            errorPolicy: .mismatching)
    }

    init(
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
        var (collections, names): ([String], Set<[UInt8]>) = ([], [])
        var ranked: Set<[UInt8]> = []
        for term in terms {
            let name = Array(term.query.collection.utf8)
            if names.insert(name).inserted { collections.append(term.query.collection) }
            if term.query.limit == nil {
                plain[name, default: []].append(term)
            } else {
                ranked.insert(name)
            }
        }
        (self.collections, self.names) = (collections, names)
        (self.ranked, isRanked) = (ranked, !ranked.isEmpty)
    }

    func asks(for collection: String) -> Bool { names.contains(Array(collection.utf8)) }

    /// Whether documents of a collection are asked for that tell by themselves that they are.
    func asksPlainly(for collection: String) -> Bool { plainTerms(of: collection) != nil }

    /// Whether some of the documents of a collection are asked for by ORDER BY and LIMIT.
    func hasLimit(in collection: String) -> Bool {
        isRanked && ranked.contains(Array(collection.utf8))
    }

    private func plainTerms(of collection: String) -> [Term]? {
        if UTF8Order.compare(collection, last.collection) != 0 {
            last = (collection, plain[Array(collection.utf8)])
        }
        return last.terms
    }

    /// Whether a document, as it is or was, matches one of the queries without LIMIT.
    func matches(
        _ document: EncodedDocument, id: UnsafeRawBufferPointer, in collection: String,
        nameCount: Int, of transaction: DocumentTransaction? = nil
    ) throws(QueryError) -> Bool {
        guard let terms = plainTerms(of: collection) else { return false }
        let fields = try Self.fields(of: document)
        guard let fields else { return false }
        // Such a query is the only one of its collection.
        if terms.count == 1, terms[0].query.takesAll { return true }
        let scanned = ScannedDocument(fields, id: id, place: 0, isLasting: false)
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

    /// Stands for `EngineError.paused` where only query errors can be thrown.
    private static let pause = QueryError(.failed, "the evaluation continues later")

    /// Counts the visit of a document; throws where the turn of the loop is over, or the peer stops.
    func visit() throws(EngineError) {
        guard let meter else { return }
        guard !meter.isTurnOver else { throw .paused }
        do throws(QueryError) { try meter.checkStop() } catch { throw .evaluation(error) }
        meter.countVisit()
    }

    private func charge(_ term: Term, _ document: EncodedDocument) throws(QueryError) {
        guard let meter else { return }
        meter.begin(limit: SyncLimits.evaluationUnitsOnDocument)
        guard chargesLength else { return }
        try meter.charge(term.weight * (1 + document.bytes.count / 64))
    }

    private static func fields(of document: EncodedDocument) throws(QueryError) -> EncodedObject? {
        do throws(Malformed) { return try document.existingFields() } catch {
            throw QueryError(.damaged, "a document is damaged: \(error)")
        }
    }

    /// What a query asks of documents; anew where names have a number now that had none.
    private func watched(
        _ term: Term, _ nameCount: Int, _ transaction: DocumentTransaction?
    ) throws(QueryError) -> WatchedSelect? {
        if let watched = term.watched, watched.nameCount >= nameCount { return watched }
        let run = queries.subscriptionRun(
            term.query.statement, term.query.arguments, in: transaction, meter)
        guard case .select(let watched, _) = try run.watch() else { return nil }
        term.watched = watched
        return watched
    }

    /// Whether a document that is stored matches; nothing does not.
    func matches(
        _ document: StoredDocument?, key: [UInt8], in collection: String, _ names: NameTable,
        of transaction: DocumentTransaction? = nil
    ) throws(EngineError) -> Bool {
        guard let document, asksPlainly(for: collection) else { return false }
        if let filter {
            let id = Array(key[StoreKey.documentPrefixLength...])
            let address = DocumentAddress(collection: collection, id: id)
            guard try filter(document, key, address) else { return false }
        }
        if let resumption, resumption.key != key {
            // A document that has no turn left must not discard the progress of the one that used it.
            guard meter?.isTurnOver != true else { throw .paused }
            self.resumption = nil
        }
        do throws(EngineError) {
            return try read(document, key) { (encoded, id) throws(QueryError) in
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

    /// Writes the first error of a rule to the log, since no peer is sent it.
    private func logError(_ error: QueryError) {
        guard !hasLoggedError else { return }
        hasLoggedError = true
        queries.log?.write(
            .warning,
            "a rule cannot be evaluated on a document, and so does not permit to read or write it",
            ["reason": error.message])
    }

    /// What a document that is stored is ranked by in one of the queries; none where it does not match.
    func rank(
        _ document: StoredDocument, key: [UInt8], inQuery number: Int, _ names: NameTable
    ) throws(EngineError) -> Ranking.Row? {
        try read(document, key) { (encoded, id) throws(QueryError) in
            guard let fields = try Self.fields(of: encoded) else { return nil }
            let scanned = ScannedDocument(fields, id: id, place: 0, isLasting: false)
            guard meter?.isTurnOver != true else { throw Self.pause }
            try charge(terms[number], encoded)
            return try watched(terms[number], names.count, nil)?.rank(scanned)
        }
    }

    /// The directions in which one of the queries sorts.
    func isDescending(_ number: Int, _ names: NameTable) throws(EngineError) -> [Bool] {
        do throws(QueryError) {
            return try watched(terms[number], names.count, nil)?.isDescending ?? []
        } catch {
            throw .evaluation(error)
        }
    }

    private func read<Answer>(
        _ document: StoredDocument, _ key: [UInt8],
        _ body: (EncodedDocument, UnsafeRawBufferPointer) throws(QueryError) -> Answer
    ) throws(EngineError) -> Answer {
        let result: Result<Answer, QueryError> = key.span.withUnsafeBytes { key in
            let id = UnsafeRawBufferPointer(rebasing: key.dropFirst(StoreKey.documentPrefixLength))
            return document.read { bytes in
                do throws(QueryError) {
                    let encoded: EncodedDocument
                    do throws(Malformed) { encoded = try EncodedDocument(bytes) } catch {
                        throw QueryError(.damaged, "a document is damaged: \(error)")
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

    /// A run of one of the queries on a state.
    func run(_ query: SubscriptionQuery, on snapshot: DocumentSnapshot) -> QueryRun {
        queries.subscriptionRun(query.statement, query.arguments, on: snapshot, meter)
    }
}

extension QueryEngine {
    /// A run on what a transaction has by now, or on the newest durable state; it may go on as long as the
    /// subscription does.
    fileprivate func subscriptionRun(
        _ statement: Statement, _ arguments: ArgumentValues, in transaction: DocumentTransaction?,
        _ meter: EvaluationMeter?
    ) -> QueryRun {
        let parameters = parameters
        let reader =
            transaction?.reader(parameters.collections, storeNumber: number)
            ?? reader(parameters)
        return run(statement, arguments, parameters, on: reader, isTimed: false, meter: meter)
    }

    fileprivate func subscriptionRun(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot,
        _ meter: EvaluationMeter?
    ) -> QueryRun {
        let parameters = parameters
        return run(
            statement, arguments, parameters, on: reader(of: snapshot, parameters), isTimed: false,
            meter: meter)
    }
}
