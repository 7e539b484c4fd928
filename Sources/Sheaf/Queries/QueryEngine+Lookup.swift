import SheafBytes
import SheafDocument
package import SheafQuery
import SheafStorage

/// Statements that ask for the document of one `_id`, which take less time than to begin any other.
extension QueryEngine {
    /// For a key that most texts have, of the longest text that is looked up so.
    private static let roomForKey = 512

    /// The result of such a statement on the newest durable state; nil where the statement has to be
    /// run like others.
    func lookUp(_ statement: Statement, _ arguments: ArgumentValues) -> ResultStorage? {
        guard let lookup = statement.selection, let id = lookup.id(arguments) else { return nil }
        return lookUp(lookup, id, statement, on: source.snapshot(), commit: nil)
    }

    /// The same for a query: all that is done for it before and behind whom programs call.
    package func lookUp(
        _ query: Query, _ arguments: QueryArguments
    ) throws(QueryError) -> QueryResult? {
        lookUp(try statement(query), try query.bind(arguments)).map { QueryResult($0) }
    }

    /// The same on the state of a transaction.
    func lookUp(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot,
        commit: CommitCell
    ) -> ResultStorage? {
        guard let lookup = statement.selection, let id = lookup.id(arguments) else { return nil }
        return lookUp(lookup, id, statement, on: snapshot, commit: commit)
    }

    @inline(__always)
    private func lookUp(
        _ lookup: Shortcut.Lookup, _ id: Value, _ statement: Statement,
        on snapshot: DocumentSnapshot, commit: CommitCell?
    ) -> ResultStorage? {
        let parameters = parameters
        guard parameters.arePlain(for: statement) else { return nil }
        let start = requests.clock.monotonicNanoseconds()
        let item: ResultItem?
        switch Self.find(lookup, id, in: snapshot) {
        case .document(let found): item = found
        case .nothing: item = nil
        case .unknown: return nil
        }
        let storage = ResultStorage(
            item, of: snapshot, commit: commit.map { .of($0) } ?? .known(snapshot.log.commit),
            storeNumber: number)
        let nanoseconds = requests.note(
            statement, from: start, rows: storage.count,
            keeping: parameters.values.requestHistorySize)
        warn(of: statement, nanoseconds, rows: storage.count, parameters.values)
        return storage
    }

    private enum Finding {
        case document(ResultItem)
        case nothing
        /// The document has to be joined first, or is only what is left of one, or is damaged.
        case unknown
    }

    @inline(__always)
    private static func find(
        _ lookup: Shortcut.Lookup, _ id: Value, in snapshot: DocumentSnapshot
    ) -> Finding {
        let (log, directory) = (snapshot.log, snapshot.directory)
        let collection = lookup.number(among: directory.collections) {
            directory.number(ofCollection: $0)
        }
        guard let collection, let place = place(of: id, in: collection, log) else {
            return .nothing
        }
        // What is damaged says so when the statement is run.
        guard !place.isExtension, let operation = try? log.newestOperation(at: place),
            let state = try? DocumentPayload.plainState(operation.payload),
            let fields = try? state.existingFields()
        else { return .unknown }
        let key = UnsafeRawBufferPointer(
            rebasing: operation.key.dropFirst(StoreKey.documentPrefixLength))
        return .document(
            ResultItem(
                content: .stored(fields: fields, id: key, place: place.position.rawValue)))
    }

    @inline(__always)
    private static func place(
        of id: Value, in collection: UInt16, _ log: LogSnapshot
    ) -> Place? {
        if case .string(let text) = id {
            let found = withUnsafeTemporaryAllocation(byteCount: roomForKey, alignment: 1) {
                room -> Place?? in
                StoreKey.write(documentOf: collection, id: text, to: room).map { length in
                    log.place(of: UnsafeRawBufferPointer(rebasing: room[..<length]))
                }
            }
            if let found { return found }
        }
        let key = StoreKey.document(collection: collection, id: SortKey.identity(of: id)).bytes
        return key.span.withUnsafeBytes { log.place(of: $0) }
    }
}
