import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafQuery
import SheafStorage
import SheafSystem

/// Fast path for point lookups by `_id`.
extension QueryEngine {
    /// Size in bytes of the temporary key buffer; longer keys are allocated on the heap.
    private static let keyBufferLength = 512

    /// Returns the result of a point lookup in the newest durable snapshot.
    ///
    /// Returns nil if the statement is not a point lookup, or the document requires a regular run.
    package func lookUp(_ statement: Statement, _ arguments: ArgumentValues) -> ResultStorage? {
        guard let lookup = statement.selection, let id = lookup.id(arguments) else { return nil }
        return lookUp(lookup, id, statement, on: source.snapshot(), commit: nil)
    }

    /// Returns the result of a point lookup in the snapshot of a transaction.
    package func lookUp(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot,
        commit: CommitCell
    ) -> ResultStorage? {
        guard let lookup = statement.selection, let id = lookup.id(arguments) else { return nil }
        return lookUp(lookup, id, statement, on: snapshot, commit: commit)
    }

    @inline(__always)
    private func lookUp(
        _ lookup: FastPath.Lookup, _ id: Value, _ statement: Statement,
        on snapshot: DocumentSnapshot, commit: CommitCell?
    ) -> ResultStorage? {
        let parameters = parameters
        guard parameters.haveNoEffect(on: statement) else { return nil }
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
        let nanoseconds = requests.record(
            statement, from: start, rows: storage.count,
            keeping: parameters.values.requestHistorySize)
        warnIfSlow(of: statement, nanoseconds, rows: storage.count, parameters.values)
        return storage
    }

    private enum LookupOutcome {
        case document(ResultItem)
        case nothing
        /// The document has deltas, is a tombstone, or is damaged.
        case unknown
    }

    @inline(__always)
    private static func find(
        _ lookup: FastPath.Lookup, _ id: Value, in snapshot: DocumentSnapshot
    ) -> LookupOutcome {
        let (log, directory) = (snapshot.log, snapshot.catalog)
        let collection = lookup.number(among: directory.collections) {
            directory.number(ofCollection: $0)
        }
        guard let collection, let pointer = recordPointer(of: id, in: collection, log) else {
            return .nothing
        }
        // Damage is reported by the regular run of the statement.
        guard !pointer.isDelta, let operation = try? log.newestOperation(at: pointer),
            let state = try? DocumentPayload.plainState(operation.payload),
            let fields = try? state.existingFields()
        else { return .unknown }
        let key = UnsafeRawBufferPointer(
            rebasing: operation.key.dropFirst(StoreKey.documentPrefixLength))
        return .document(
            ResultItem(
                content: .stored(fields: fields, id: key, position: pointer.position.rawValue)))
    }

    @inline(__always)
    private static func recordPointer(
        of id: Value, in collection: UInt16, _ log: LogSnapshot
    ) -> RecordPointer? {
        if case .string(let text) = id {
            let found = withUnsafeTemporaryAllocation(byteCount: keyBufferLength, alignment: 1) {
                room -> RecordPointer?? in
                StoreKey.write(documentOf: collection, id: text, to: room).map { length in
                    log.recordPointer(of: UnsafeRawBufferPointer(rebasing: room[..<length]))
                }
            }
            if let found { return found }
        }
        let key = StoreKey.document(collection: collection, id: SortKey.identity(of: id)).bytes
        return key.span.withUnsafeBytes { log.recordPointer(of: $0) }
    }
}
