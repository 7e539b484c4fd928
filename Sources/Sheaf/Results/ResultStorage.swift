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
    private let snapshot: DocumentSnapshot
    /// Files of older states in which bytes of rows are.
    private let files: [SegmentTable]
    /// The rows that were decoded and kept, by their places.
    private let materialized = Mutex<[Int: Object]>([:])

    init(_ outcome: QueryOutcome, commit: CommitCell, files: [SegmentTable] = []) {
        items = outcome.rows.items
        columns = outcome.rows.columns
        mutatedIDs = outcome.mutatedIDs
        snapshot = outcome.reader.snapshot
        self.commit = commit
        self.files = files
        storeNumber = outcome.reader.storeNumber
    }

    /// Tells the store from all others of the process.
    let storeNumber: UInt64

    package var names: NameTable { snapshot.names }

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
        return try onStore { () throws(QueryError) in try items[index].object(names) }
    }

    func dematerialize(_ index: Int) {
        materialized.withLock { $0[index] = nil }
    }

    func isMaterialized(_ index: Int) -> Bool {
        materialized.withLock { $0[index] != nil }
    }
}
