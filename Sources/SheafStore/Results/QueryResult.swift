public import SheafDocument
package import SheafQuery
package import SheafStatements

/// The result of a statement: its rows, or the ids of the documents it wrote.
///
/// A result is a cursor over the snapshot that the statement read: rows are decoded when they are
/// accessed, and the snapshot is retained as long as the result.
public struct QueryResult: Sendable {
    package let storage: ResultStorage
    /// The edits of the rows since the previous result; nil if unknown.
    private var edits: [RowEdit]?
    /// The statement of an empty result; nil for results with rows, and for those of observers.
    private let question: EmptyResultQuestion?

    package init(_ storage: ResultStorage, edits: [RowEdit]? = nil) {
        self.storage = storage
        self.edits = edits
        question = nil
    }

    /// Creates the result of a statement, which an empty result needs for its notes.
    init(
        _ storage: ResultStorage, of statement: Statement, _ arguments: ArgumentValues,
        _ queries: QueryEngine
    ) {
        self.storage = storage
        edits = nil
        question =
            storage.isEmpty
            ? EmptyResultQuestion(
                statement, arguments, isStrict: queries.parameters.values.isStrict) : nil
    }

    /// Notes that may explain why the result is empty; none if it is not.
    ///
    ///     let result = try await store.execute("SELECT * FROM sales WHERE prce > 5")
    ///     result.notes    // ["no document in sales has a field prce; did you mean price?"]
    ///
    /// A result is empty if it has no rows and its statement changed no documents. The notes name
    /// collections without documents, fields that no document has, names that look like texts
    /// without quotes, and comparisons that are never true. They are computed on access, from the
    /// snapshot of the result and at most 1,000 documents of each collection; the results of
    /// observers have none.
    public var notes: [String] { question?.notes(on: storage) ?? [] }

    /// The changes since the previous result of the same observer; nil if they are unknown.
    ///
    /// They are derived from the changed documents, at a cost that does not depend on the other
    /// rows. So they identify rows by document, even if rows lack `_id`, and after several commits
    /// they may contain rows whose values are the same as before. Nil for first results, and after
    /// the statement had to run again; use a `Differ` then.
    public var changes: Diff? {
        edits.map { RowRuns.diff($0, count: storage.count) }
    }

    /// Returns this result for an observer that did not receive the `missed` one before it.
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

    /// The rows, in order.
    public var items: Items { Items(storage) }

    /// The ids of the documents that the statement wrote, in the order of the writes.
    public var mutatedDocumentIDs: [Value] { storage.mutatedIDs }

    /// The commit that contains the changes, or the newest one visible to the rows.
    ///
    /// In a transaction it is nil until the transaction is committed, and stays nil if it is rolled
    /// back. Commit numbers are unique in a store and increase.
    public var commitID: Int64? { storage.commit.value }

    /// The columns, in order; nil if rows are complete documents.
    public var columns: [String]? { storage.columns }
}

extension QueryResult {
    /// The rows of a result.
    public struct Items: RandomAccessCollection, Sendable {
        let storage: ResultStorage

        fileprivate init(_ storage: ResultStorage) {
            self.storage = storage
        }

        /// The position of the first row, which is 0.
        public var startIndex: Int { 0 }
        /// The position after the last row, which is the number of rows.
        public var endIndex: Int { storage.count }

        /// The row at a position, which is decoded when its fields are read.
        public subscript(index: Int) -> QueryResultItem {
            precondition(index >= 0 && index < storage.count, "The result has no row \(index).")
            return QueryResultItem(storage, index)
        }
    }
}
