package import SheafDocument
package import SheafQuery
package import SheafStorage

/// What a statement came to.
package struct QueryOutcome {
    package let rows: QueryRows
    /// What the rows are made of, which is valid as long as this.
    package let reader: SnapshotReader
    /// The ids of the documents that were written.
    package let mutatedIDs: [Value]
    /// The commit that has the changes, or the newest there is; none for what only reads.
    package let commit: CommitID?
    /// Those of the documents that people should know of.
    var large: [LargeDocument] = []

    /// The same, with the commit that has the changes.
    func with(_ commit: CommitID) -> QueryOutcome {
        QueryOutcome(
            rows: rows, reader: reader, mutatedIDs: mutatedIDs, commit: commit, large: large)
    }
}

/// A document that people should know of, since it has become so long.
struct LargeDocument: Sendable {
    let collection: String
    let id: Value
    let length: Int
    /// What it is longer than.
    let limit: Int
}

/// How what is written gets to the log.
package struct CommitSink: Sendable {
    /// Gives a batch to the log.
    package let append: @Sendable (WriteBatch) throws(StorageError) -> CommitID
    /// Makes durable what was appended before.
    package let flush: @Sendable () throws(StorageError) -> Void
    /// Cancellation of a CREATE INDEX; nil if it cannot be cancelled.
    var stop: EvaluationStop?

    package init(
        append: @escaping @Sendable (WriteBatch) throws(StorageError) -> CommitID,
        flush: @escaping @Sendable () throws(StorageError) -> Void
    ) {
        self.append = append
        self.flush = flush
    }
}

extension CommitSink {
    /// For what writes nothing.
    package static let refusing = CommitSink(
        append: { (_) throws(StorageError) in throw .readOnly },
        flush: { () throws(StorageError) in throw .readOnly })
}
