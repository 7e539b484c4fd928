public import SheafDocument
import SheafQuery

/// What a statement came to: rows, or what was written.
///
/// A result is a cursor over the state that the statement saw: rows are decoded when they are looked
/// at, and the state is kept as long as the result is.
public struct QueryResult: Sendable {
    package let storage: ResultStorage
    /// What was done to the rows since the result before, where that is known.
    private var edits: [RowEdit]?

    init(_ storage: ResultStorage, edits: [RowEdit]? = nil) {
        self.storage = storage
        self.edits = edits
    }

    init(_ outcome: QueryOutcome, commit: ResultCommit) {
        storage = ResultStorage(outcome, commit: commit)
    }

    /// What has changed since the result that the same observer was given before.
    ///
    /// It is made of the changes of documents, and costs what they cost, and not what all rows do. So it
    /// goes by documents, also where rows do not have their `_id`, and where several commits came together
    /// it may name rows that became again what they were. Nil where it is not known: for first results,
    /// and where a statement had to be run again. A `Differ` tells it then.
    public var changes: Diff? {
        edits.map { RowPieces.diff($0, count: storage.count) }
    }

    /// The same result for somebody who was not given the one before.
    package func following(_ missed: QueryResult) -> QueryResult {
        var result = self
        result.edits = nil
        if let first = missed.edits, let second = edits,
            first.count + second.count <= RowEdit.maximumCount
        {
            result.edits = first + second
        }
        return result
    }

    /// The rows, in their order.
    public var items: Items { Items(storage) }

    /// The ids of the documents that the statement has written, in the order in which it did.
    public var mutatedDocumentIDs: [Value] { storage.mutatedIDs }

    /// The commit that has what was written, or the last one that the rows show.
    ///
    /// In a transaction it is nil until the transaction is committed, and stays so when it is rolled
    /// back. Numbers rise from commit to commit, and no two commits of a store have the same.
    public var commitID: Int64? { storage.commit.value }

    /// The columns in their order; nil where rows are whole documents.
    public var columns: [String]? { storage.columns }
}

extension QueryResult {
    /// The rows of a result.
    public struct Items: RandomAccessCollection, Sendable {
        let storage: ResultStorage

        fileprivate init(_ storage: ResultStorage) {
            self.storage = storage
        }

        public var startIndex: Int { 0 }
        public var endIndex: Int { storage.count }

        public subscript(index: Int) -> QueryResultItem {
            precondition(index >= 0 && index < storage.count, "The result has no row \(index).")
            return QueryResultItem(storage, index)
        }
    }
}
