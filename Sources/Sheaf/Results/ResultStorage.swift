package import SheafDocument
package import SheafQuery
import SheafStorage
import Synchronization

/// The rows of a result, and what keeps their bytes valid.
package final class ResultStorage: Sendable {
    // Nobody changes the items when they are made, and the snapshot keeps what they point to.
    nonisolated(unsafe) package let items: [ResultItem]
    let columns: [String]?
    let mutatedIDs: [Value]
    let commit: CommitCell
    /// What keeps the bytes of rows valid.
    private let kept: Kept
    package let names: NameTable
    /// The rows that were decoded and kept, by their places.
    private let materialized = Mutex<[Int: Object]>([:])

    /// What bytes of rows are in.
    enum Kept: Sendable {
        /// The whole state that was looked at.
        case state(DocumentSnapshot)
        /// Only its files, and some of older states: very many results are kept for less than that.
        case files(SegmentTable?, older: [SegmentTable])

        /// The newest files.
        var table: SegmentTable? {
            switch self {
            case .state(let snapshot): snapshot.log.segments
            case .files(let table, older: _): table
            }
        }
    }

    /// A result of somebody who keeps rows from state to state.
    init(_ rows: QueryRows, of reader: SnapshotReader, _ kept: Kept) {
        items = rows.items
        columns = rows.columns
        mutatedIDs = []
        self.kept = kept
        names = reader.names
        commit = CommitCell(reader.snapshot.log.commit)
        storeNumber = reader.storeNumber
    }

    init(_ outcome: QueryOutcome, commit: CommitCell) {
        items = outcome.rows.items
        columns = outcome.rows.columns
        mutatedIDs = outcome.mutatedIDs
        kept = .state(outcome.reader.snapshot)
        names = outcome.reader.names
        self.commit = commit
        storeNumber = outcome.reader.storeNumber
    }

    /// Tells the store from all others of the process.
    let storeNumber: UInt64

    /// A row, decoded; kept from now on, if it was not.
    func materialize(_ index: Int) throws(StoreError) -> Object {
        if let known = materialized.withLock({ $0[index] }) { return known }
        let object = try object(index)
        materialized.withLock { $0[index] = object }
        return object
    }

    /// A row, decoded or as it was kept.
    func object(_ index: Int) throws(StoreError) -> Object {
        if let known = materialized.withLock({ $0[index] }) { return known }
        return try read(index) { (item) throws(QueryError) in try item.object(names) }
    }

    /// One value of a row, without decoding the others; none where it is missing.
    func value(_ index: Int, at path: [String]) throws(StoreError) -> Value? {
        try read(index) { (item) throws(QueryError) in try item.value(at: path, names) }
    }

    private func read<Result>(
        _ index: Int, _ body: (ResultItem) throws(QueryError) -> Result
    ) throws(StoreError) -> Result {
        do throws(QueryError) { return try body(items[index]) } catch {
            throw StoreError(kept.table.map { error.naming(fileIn: $0) } ?? error)
        }
    }

    func dematerialize(_ index: Int) {
        materialized.withLock { $0[index] = nil }
    }

    func isMaterialized(_ index: Int) -> Bool {
        materialized.withLock { $0[index] != nil }
    }
}
