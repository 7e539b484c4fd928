import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// Says which documents match what somebody has subscribed to.
///
/// One thread at a time may use it.
package final class SubscriptionMatcher {
    private final class Term {
        let query: SubscriptionQuery
        var watched: WatchedSelect?

        init(_ query: SubscriptionQuery) {
            self.query = query
        }
    }

    /// What was subscribed to, in that order.
    let subscribed: [SubscriptionQuery]
    private let queries: QueryEngine
    /// By the bytes of the names of their collections.
    private var terms: [[UInt8]: [Term]] = [:]
    /// The collections that are asked for, each once.
    let collections: [String]

    package init(_ subscribed: [SubscriptionQuery], _ queries: QueryEngine) {
        self.subscribed = subscribed
        self.queries = queries
        var names: [String] = []
        for query in subscribed {
            let name = Array(query.collection.utf8)
            if terms[name] == nil { names.append(query.collection) }
            terms[name, default: []].append(Term(query))
        }
        collections = names
    }

    func asks(for collection: String) -> Bool { terms[Array(collection.utf8)] != nil }

    /// Whether a document, as it is or was, matches one of the queries.
    func matches(
        _ document: EncodedDocument, id: UnsafeRawBufferPointer, in collection: String,
        nameCount: Int, of transaction: DocumentTransaction? = nil
    ) throws(QueryError) -> Bool {
        guard let terms = terms[Array(collection.utf8)] else { return false }
        let fields = try Self.fields(of: document)
        guard let fields else { return false }
        let scanned = ScannedDocument(fields, id: id, place: 0, isLasting: false)
        for term in terms {
            guard let watched = try watched(term, nameCount, transaction) else { continue }
            // Who asks for one document alone asks nothing more of it.
            if case .document(let only) = watched.handle, !id.elementsEqual(only) { continue }
            if try watched.matches(scanned) { return true }
        }
        return false
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
        let run = queries.run(term.query.statement, term.query.arguments, in: transaction)
        guard case .select(let watched, _) = try run.watch() else { return nil }
        term.watched = watched
        return watched
    }

    /// Whether a document that is stored matches; nothing does not.
    func matches(
        _ document: StoredDocument?, key: [UInt8], in collection: String, _ names: NameTable,
        of transaction: DocumentTransaction? = nil
    ) throws(EngineError) -> Bool {
        guard let document, asks(for: collection) else { return false }
        let result: Result<Bool, QueryError> = key.span.withUnsafeBytes { key in
            let id = UnsafeRawBufferPointer(rebasing: key.dropFirst(StoreKey.documentPrefixLength))
            return document.read { bytes in
                do throws(QueryError) {
                    let encoded: EncodedDocument
                    do throws(Malformed) { encoded = try EncodedDocument(bytes) } catch {
                        throw QueryError(.damaged, "a document is damaged: \(error)")
                    }
                    return .success(
                        try matches(
                            encoded, id: id, in: collection, nameCount: names.count,
                            of: transaction))
                } catch {
                    return .failure(error)
                }
            }
        }
        switch result {
        case .success(let matches): return matches
        case .failure: throw .damaged(key: key, .invalid("a value that cannot be asked", at: 0))
        }
    }
}

extension QueryEngine {
    /// A run on what a transaction has by now, or on the newest durable state.
    fileprivate func run(
        _ statement: Statement, _ arguments: ArgumentValues, in transaction: DocumentTransaction?
    ) -> QueryRun {
        guard let transaction else { return run(statement, arguments) }
        let parameters = parameters
        let reader = transaction.reader(parameters.collections, storeNumber: number)
        return run(statement, arguments, parameters, on: reader)
    }
}
