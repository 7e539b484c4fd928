package import SheafDocument
package import SheafQuery
import SheafStorage
import Synchronization

/// The rows of a result, and what keeps their bytes valid.
package final class ResultStorage: Sendable {
    // Nobody changes the rows when they are made, and the snapshot keeps what they point to.
    nonisolated(unsafe) private let rows: Rows
    let columns: [String]?
    let mutatedIDs: [Value]
    let commit: ResultCommit
    /// What keeps the bytes of rows valid.
    private let kept: Kept
    package let names: NameTable
    /// The rows that were decoded and kept, by their places.
    private let materialized = Mutex<[Int: Object]>([:])
    /// Whether there ever was one: nobody takes the lock for what hardly anybody does.
    private let hasMaterialized = Atomic(false)
    /// Tells the store from all others of the process.
    let storeNumber: UInt64

    private enum Rows {
        /// One alone takes no memory of its own.
        case one(ResultItem)
        case any([ResultItem])
    }

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
    init(_ rows: LiveRows, columns: [String]?, of reader: SnapshotReader, _ kept: Kept) {
        let rows = rows.rows
        self.rows = rows.count == 1 ? .one(rows[0].item) : .any(rows.map(\.item))
        self.columns = columns
        mutatedIDs = []
        self.kept = kept
        names = reader.names
        commit = .known(reader.snapshot.log.commit)
        storeNumber = reader.storeNumber
    }

    init(_ outcome: QueryOutcome, commit: ResultCommit) {
        rows = .any(outcome.rows.items)
        columns = outcome.rows.columns
        mutatedIDs = outcome.mutatedIDs
        kept = .state(outcome.reader.snapshot)
        names = outcome.reader.names
        self.commit = commit
        storeNumber = outcome.reader.storeNumber
    }

    /// A document of a state, or no row.
    init(
        _ document: ResultItem?, of snapshot: DocumentSnapshot, commit: ResultCommit,
        storeNumber: UInt64
    ) {
        rows = document.map { .one($0) } ?? .any([])
        columns = nil
        mutatedIDs = []
        kept = .state(snapshot)
        names = snapshot.names
        self.commit = commit
        self.storeNumber = storeNumber
    }

    /// How many rows there are.
    package var count: Int {
        switch rows {
        case .one: 1
        case .any(let items): items.count
        }
    }

    /// A row.
    package func item(_ index: Int) -> ResultItem {
        switch rows {
        case .one(let item):
            precondition(index == 0, "The result has one row.")
            return item
        case .any(let items): return items[index]
        }
    }

    /// A row, decoded; kept from now on, if it was not.
    func materialize(_ index: Int) throws(StoreError) -> Object {
        if let known = known(index) { return known }
        let object = try decoded(index)
        materialized.withLock { $0[index] = object }
        hasMaterialized.store(true, ordering: .releasing)
        return object
    }

    /// A row, decoded or as it was kept.
    func object(_ index: Int) throws(StoreError) -> Object {
        if let known = known(index) { return known }
        return try decoded(index)
    }

    private func decoded(_ index: Int) throws(StoreError) -> Object {
        do throws(QueryError) { return try item(index).object(names) } catch {
            throw named(error)
        }
    }

    /// One value of a row, without decoding the others; none where it is missing.
    func value(_ index: Int, at path: [String]) throws(StoreError) -> Value? {
        do throws(QueryError) { return try item(index).value(at: path, names) } catch {
            throw named(error)
        }
    }

    /// The value of one field, which is found faster.
    func value(_ index: Int, of name: String) throws(StoreError) -> Value? {
        do throws(QueryError) { return try item(index).value(of: name, names) } catch {
            throw named(error)
        }
    }

    /// Says in which file damage lies.
    private func named(_ error: QueryError) -> StoreError {
        StoreError(kept.table.map { error.naming(fileIn: $0) } ?? error)
    }

    /// A row that was decoded and kept.
    func known(_ index: Int) -> Object? {
        guard hasMaterialized.load(ordering: .acquiring) else { return nil }
        return materialized.withLock { $0[index] }
    }

    func dematerialize(_ index: Int) {
        materialized.withLock { $0[index] = nil }
    }
}
