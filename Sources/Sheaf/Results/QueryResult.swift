public import SheafDocument

/// What a statement came to: rows, or what was written.
///
/// A result is a cursor over the state that the statement saw: rows are decoded when they are looked
/// at, and the state is kept as long as the result is.
public struct QueryResult: Sendable {
    package let storage: ResultStorage

    init(_ storage: ResultStorage) {
        self.storage = storage
    }

    init(_ outcome: QueryOutcome, commit: CommitCell) {
        storage = ResultStorage(outcome, commit: commit)
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
        public var endIndex: Int { storage.items.count }

        public subscript(index: Int) -> QueryResultItem {
            precondition(storage.items.indices.contains(index), "The result has no row \(index).")
            return QueryResultItem(storage, index)
        }
    }
}
