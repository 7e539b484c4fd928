package import SheafDocument
package import SheafEngine
package import SheafQuery
package import SheafStorage
import Synchronization

/// The rows of a result, and the snapshot or files that keep their bytes valid.
package final class ResultStorage: Sendable {
    // The rows never change, and the bytes that they point to are retained with them.
    nonisolated(unsafe) private let rows: Rows
    package let columns: [String]?
    private let idStorage: MutatedIDs
    package let commit: ResultCommit
    /// The owner of the bytes of rows.
    private let owner: BytesOwner
    package let names: NameTable
    /// The decoded rows that are retained, by index.
    private let materialized = Mutex<[Int: Object]>([:])
    /// Whether a row was ever materialized; avoids the lock, since few results have such rows.
    private let hasMaterialized = Atomic(false)
    /// The number that identifies the store in the process.
    package let storeNumber: UInt64
    /// Numbers of the collections with pending changes, which the snapshot lacks.
    private let pendingCollections: Set<UInt16>

    private enum Rows {
        /// A single row, without the allocation of an array.
        case one(ResultItem)
        case many([ResultItem])
        case computed(ComputedRows)

        init(_ rows: ResultRows) {
            switch rows {
            case .items(let items): self = .many(items)
            case .computed(let rows): self = .computed(rows)
            }
        }
    }

    /// The ids of the documents that the statement changed.
    private enum MutatedIDs {
        /// A single id, without the allocation of an array.
        case one(Value)
        case many([Value])

        init(_ ids: [Value]) {
            self = .many(ids)
        }
    }

    /// The owner of the bytes of rows.
    package enum BytesOwner: Sendable {
        /// The complete snapshot.
        case snapshot(DocumentSnapshot)
        /// The current and older files alone, which cost less than a snapshot per result.
        case files(SegmentTable?, older: [SegmentTable])

        /// The newest segment table.
        var table: SegmentTable? {
            switch self {
            case .snapshot(let snapshot): snapshot.log.segments
            case .files(let table, older: _): table
            }
        }
    }

    /// Creates the result of an incremental view.
    package init(
        _ rows: IncrementalView, columns: [String]?, of reader: SnapshotReader, _ kept: BytesOwner
    ) {
        let rows = rows.rows
        self.rows = rows.count == 1 ? .one(rows[0].item) : .many(rows.map(\.item))
        self.columns = columns
        idStorage = MutatedIDs([])
        self.owner = kept
        names = reader.names
        commit = .known(reader.snapshot.log.commit)
        storeNumber = reader.storeNumber
        pendingCollections = []
    }

    /// Creates a statement's result; `commitCell` is nil if the statement is its own transaction.
    convenience init(_ outcome: QueryOutcome, _ commitCell: CommitCell?) {
        self.init(
            outcome.rows, of: outcome.reader, outcome.mutatedIDs,
            ResultCommit(outcome.commit ?? outcome.reader.snapshot.log.commit, commitCell),
            outcome.pendingCollections)
    }

    /// Creates the result of an observed statement that was run completely.
    package convenience init(_ rows: QueryRows, of reader: SnapshotReader) {
        self.init(rows, of: reader, [], .known(reader.snapshot.log.commit), [])
    }

    private init(
        _ rows: QueryRows, of reader: SnapshotReader, _ mutatedIDs: [Value],
        _ commit: ResultCommit, _ pendingCollections: Set<UInt16>
    ) {
        self.rows = Rows(rows.rows)
        columns = rows.columns
        idStorage = MutatedIDs(mutatedIDs)
        owner = .snapshot(reader.snapshot)
        names = reader.names
        self.commit = commit
        storeNumber = reader.storeNumber
        self.pendingCollections = pendingCollections
    }

    /// Creates the result of a point lookup: one document, or no row.
    init(
        _ document: ResultItem?, of snapshot: DocumentSnapshot, _ commitCell: CommitCell?,
        storeNumber: UInt64, pendingCollections: Set<UInt16> = []
    ) {
        rows = document.map { .one($0) } ?? .many([])
        columns = nil
        idStorage = MutatedIDs([])
        owner = .snapshot(snapshot)
        names = snapshot.names
        commit = ResultCommit(snapshot.log.commit, commitCell)
        self.storeNumber = storeNumber
        self.pendingCollections = pendingCollections
    }

    /// Creates the result of a point write; `id` is nil if nothing was changed.
    init(
        changing id: Value?, after snapshot: DocumentSnapshot, _ commit: ResultCommit,
        storeNumber: UInt64, pendingCollections: Set<UInt16>
    ) {
        rows = .many([])
        columns = nil
        idStorage = id.map { .one($0) } ?? .many([])
        owner = .snapshot(snapshot)
        names = snapshot.names
        self.commit = commit
        self.storeNumber = storeNumber
        self.pendingCollections = pendingCollections
    }

    /// The ids of the documents that the statement changed.
    package var mutatedIDs: [Value] {
        switch idStorage {
        case .one(let id): [id]
        case .many(let ids): ids
        }
    }

    /// Whether the statement returned no rows and changed no documents.
    package var isEmpty: Bool {
        guard count == 0, case .many(let ids) = idStorage else { return false }
        return ids.isEmpty
    }

    /// Returns notes that may explain the empty result of `statement`; none if it is not empty.
    ///
    /// They are computed from the snapshot of the result. A document that cannot be read, and a
    /// collection with changes that the snapshot lacks, has none.
    package func notes(
        _ statement: Statement, _ arguments: ArgumentValues, isStrict: Bool
    ) -> [String] {
        guard isEmpty, !statement.readsPast, case .snapshot(let snapshot) = owner else {
            return []
        }
        let (catalog, pending) = (snapshot.catalog, pendingCollections)
        let empty = EmptyResult(
            statement, arguments, isStrict: isStrict,
            in: SnapshotReader(snapshot, virtual: NoVirtualCollections()),
            collections: catalog.collections
        ) { name in
            catalog.number(ofCollection: name).map { !pending.contains($0) } ?? true
        }
        return (try? empty.notes()) ?? []
    }

    /// All rows.
    package var items: [ResultItem] {
        switch rows {
        case .one(let item): [item]
        case .many(let items): items
        case .computed(let rows): ResultRows.computed(rows).items
        }
    }

    /// The number of rows.
    package var count: Int {
        switch rows {
        case .one: 1
        case .many(let items): items.count
        case .computed(let rows): rows.count
        }
    }

    /// Returns the row at an index.
    package func item(_ index: Int) -> ResultItem {
        switch rows {
        case .one(let item):
            precondition(index == 0, "The result has one row.")
            return item
        case .many(let items): return items[index]
        case .computed(let rows): return ResultItem(content: .computed(rows, number: index))
        }
    }

    /// Returns a decoded row, and retains it.
    package func materialize(_ index: Int) throws(StoreError) -> Object {
        if let known = materializedRow(index) { return known }
        let object = try decoded(index)
        materialized.withLock { $0[index] = object }
        hasMaterialized.store(true, ordering: .releasing)
        return object
    }

    /// Returns a decoded row, without retaining it.
    package func object(_ index: Int) throws(StoreError) -> Object {
        if let known = materializedRow(index) { return known }
        return try decoded(index)
    }

    private func decoded(_ index: Int) throws(StoreError) -> Object {
        do throws(StoreError) { return try item(index).object(names) } catch {
            throw located(error)
        }
    }

    /// Decodes a row as a type, without retaining it.
    package func decode<T: Decodable>(
        _ index: Int, _ type: T.Type, _ coding: ValueCoding
    ) throws -> T {
        if let known = materializedRow(index) {
            return try ValueDecoder(coding: coding).decode(type, from: .object(known))
        }
        do { return try item(index).decode(type, names, coding) } catch let error as StoreError {
            throw located(error)
        }
    }

    /// Returns one value of a row without decoding the others; nil if it is missing.
    package func value(_ index: Int, at path: [String]) throws(StoreError) -> Value? {
        do throws(StoreError) { return try item(index).value(at: path, names) } catch {
            throw located(error)
        }
    }

    /// Returns the value of a top-level field, which is faster than a path.
    package func value(_ index: Int, of name: String) throws(StoreError) -> Value? {
        if case .computed(let rows) = rows { return rows.value(index, of: name) }
        do throws(StoreError) { return try item(index).value(of: name, names) } catch {
            throw located(error)
        }
    }

    /// Adds the file to an error that reports damage.
    private func located(_ error: StoreError) -> StoreError {
        owner.table.map { error.located(in: $0) } ?? error
    }

    /// Returns the retained row at an index, if there is one.
    package func materializedRow(_ index: Int) -> Object? {
        guard hasMaterialized.load(ordering: .acquiring) else { return nil }
        return materialized.withLock { $0[index] }
    }

    /// Releases the retained row at an index.
    package func dematerialize(_ index: Int) {
        materialized.withLock { $0[index] = nil }
    }
}
