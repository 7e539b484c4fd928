import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafQuery
import SheafStorage
import SheafSystem
import Synchronization

/// Fast path for point lookups by `_id`.
extension QueryEngine {
    /// Size in bytes of the temporary key buffer; longer keys are allocated on the heap.
    private static let keyBufferLength = 512

    /// Returns the result of a point lookup; nil if the statement needs a regular run.
    ///
    /// For a short string id, allocates nothing but the result, unless the document has deltas or
    /// the transaction has changes.
    @inline(__always)
    package func lookUp<Context: StatementContext>(
        _ statement: Statement, _ arguments: ArgumentValues, in context: inout Context,
        _ commitCell: CommitCell?
    ) -> ResultStorage? {
        guard let lookup = statement.selection, let id = lookup.id(arguments) else { return nil }
        let parameters = parameters
        guard parameters.haveNoEffect(on: statement) else { return nil }
        let start = requests.clock.monotonicNanoseconds()
        let storage: ResultStorage
        if let snapshot = context.completeSnapshot(self),
            let item = Self.find(lookup, id, in: snapshot).item
        {
            storage = ResultStorage(item, of: snapshot, commitCell, storeNumber: number)
        } else {
            guard let found = find(lookup, id, context.reader(self, parameters), commitCell) else {
                return nil
            }
            storage = found
        }
        record(statement, from: start, rows: storage.count, parameters)
        return storage
    }

    /// Returns the result of a point lookup that must join deltas or read pending documents.
    @inline(never)
    private func find(
        _ lookup: FastPath.Lookup, _ id: Value, _ reader: SnapshotReader, _ commitCell: CommitCell?
    ) -> ResultStorage? {
        do throws(StoreError) {
            return ResultStorage(
                try lookup.item(id, in: reader), of: reader.snapshot, commitCell,
                storeNumber: number, pendingCollections: reader.pending.collections)
        } catch {
            // The regular run of the statement reports the damage.
            return nil
        }
    }

    /// Finds the document of a point lookup, for a caller that keeps the snapshot alive.
    ///
    /// Such a read is not in the request log.
    @inline(__always)
    package func find(
        _ statement: Statement, _ id: Value, in snapshot: DocumentSnapshot
    ) -> FoundDocument {
        guard let lookup = statement.selection, id.isFoundAlone,
            sharedParameters.withLock({ $0.haveNoEffect(on: statement) })
        else { return .unknown }
        return Self.find(lookup, id, in: snapshot)
    }

    @inline(__always)
    private static func find(
        _ lookup: FastPath.Lookup, _ id: Value, in snapshot: DocumentSnapshot
    ) -> FoundDocument {
        guard let collection = number(of: lookup, in: snapshot),
            let pointer = recordPointer(of: id, in: collection, snapshot.log)
        else { return .none }
        return document(at: pointer, in: snapshot)
    }

    @inline(__always)
    private static func number(
        of lookup: FastPath.Lookup, in snapshot: DocumentSnapshot
    ) -> UInt16? {
        lookup.number(among: snapshot.catalog.collections) {
            snapshot.catalog.number(ofCollection: $0)
        }
    }

    @inline(__always)
    private static func document(
        at pointer: RecordPointer, in snapshot: DocumentSnapshot
    ) -> FoundDocument {
        guard !pointer.isDelta, let operation = try? snapshot.log.newestOperation(at: pointer),
            let state = try? DocumentPayload.plainState(operation.payload),
            let fields = try? state.existingFields()
        else { return .unknown }
        let key = UnsafeRawBufferPointer(
            rebasing: operation.key.dropFirst(StoreKey.documentPrefixLength))
        return .document(fields, id: key, position: pointer.position.rawValue)
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

/// Fast path for point lookups AS OF a commit or a time.
extension QueryEngine {
    /// Returns the result of a point lookup in an earlier state; nil if the statement needs a
    /// regular run, which also reports errors.
    ///
    /// The chain of the document leads to its earlier operations, so the earlier state of the store
    /// is not made.
    @inline(never)
    func lookUp(
        _ past: PastLookup, _ statement: Statement, _ arguments: ArgumentValues,
        in context: some StatementContext, _ commitCell: CommitCell?
    ) -> ResultStorage? {
        guard let id = past.lookup.id(arguments), let point = past.point(arguments),
            let snapshot = context.completeSnapshot(self),
            let commit = commit(at: point, in: snapshot.log), commit <= snapshot.log.commit,
            commit >= snapshot.log.compactedThrough
        else { return nil }
        let parameters = parameters
        guard parameters.haveNoEffect(on: statement) else { return nil }
        let start = requests.clock.monotonicNanoseconds()
        let item: ResultItem?
        do throws(StoreError) {
            item = try find(past.lookup, id, asOf: commit, in: snapshot, parameters)
        } catch {
            return nil
        }
        record(statement, from: start, rows: item == nil ? 0 : 1, parameters)
        return ResultStorage(item, of: snapshot, commitCell, storeNumber: number)
    }

    private func commit(at point: PastPoint, in log: LogSnapshot) -> CommitID? {
        switch point {
        case .commit(let commit): commit
        case .time(let time): (try? pastStates.commit(at: time, in: log)) ?? nil
        }
    }

    private func find(
        _ lookup: FastPath.Lookup, _ id: Value, asOf commit: CommitID,
        in snapshot: DocumentSnapshot, _ parameters: SharedParameters
    ) throws(StoreError) -> ResultItem? {
        guard let collection = Self.number(of: lookup, in: snapshot) else { return nil }
        let key = StoreKey.document(collection: collection, id: SortKey.identity(of: id)).bytes
        let pointer: RecordPointer?
        do throws(StorageError) {
            pointer = try key.span.withUnsafeBytes { (key) throws(StorageError) in
                try snapshot.log.recordPointer(of: key, asOf: commit)
            }
        } catch {
            throw StoreError(error)
        }
        guard let pointer else { return nil }
        if let item = Self.document(at: pointer, in: snapshot).item { return item }
        var joined: ResultItem?
        try reader(of: snapshot, parameters).read(at: pointer) { (document) throws(StoreError) in
            joined = try ResultItem(document, snapshot.names)
        }
        return joined
    }
}

/// The outcome of a point lookup.
package enum FoundDocument {
    /// The fields and the encoded id of a document, in the bytes of the snapshot.
    case document(EncodedObject, id: UnsafeRawBufferPointer, position: UInt64)
    case none
    /// The document has deltas, is a tombstone or damaged, or the statement needs a regular run.
    case unknown

    /// The row of the result; the inner optional is nil if there is no document.
    fileprivate var item: ResultItem?? {
        switch self {
        case .document(let fields, let id, let position):
            .some(ResultItem(content: .stored(fields: fields, id: id, position: position)))
        case .none: .some(nil)
        case .unknown: nil
        }
    }
}
