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
}

/// How what is written gets to the log.
package struct CommitSink {
    /// Gives a batch to the log.
    package let append: (WriteBatch) throws(StorageError) -> CommitID
    /// Makes durable what was appended before.
    package let flush: () throws(StorageError) -> Void

    package init(
        append: @escaping (WriteBatch) throws(StorageError) -> CommitID,
        flush: @escaping () throws(StorageError) -> Void
    ) {
        self.append = append
        self.flush = flush
    }
}
