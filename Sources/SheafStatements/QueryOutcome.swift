package import SheafDocument
package import SheafEngine
package import SheafQuery
package import SheafStorage
package import SheafSystem

/// The outcome of a statement.
package struct QueryOutcome {
    package let rows: QueryRows
    /// The reader that keeps the bytes of the rows valid.
    package let reader: SnapshotReader
    /// The ids of the written documents.
    package let mutatedIDs: [Value]
    /// The commit of the changes, or the newest one if there are none; nil for reading statements.
    package let commit: CommitID?
    /// The written documents that exceed the soft size limit.
    var largeDocuments: [LargeDocument] = []

    package init(
        rows: QueryRows, reader: SnapshotReader, mutatedIDs: [Value], commit: CommitID?,
        largeDocuments: [LargeDocument] = []
    ) {
        self.rows = rows
        self.reader = reader
        self.mutatedIDs = mutatedIDs
        self.commit = commit
        self.largeDocuments = largeDocuments
    }

    /// Returns a copy with the commit of the changes.
    package func with(_ commit: CommitID) -> QueryOutcome {
        QueryOutcome(
            rows: rows, reader: reader, mutatedIDs: mutatedIDs, commit: commit,
            largeDocuments: largeDocuments)
    }
}

/// The functions with which statements write to the log.
package struct CommitSink: Sendable {
    /// The function that appends a batch to the log.
    package let append: @Sendable (WriteBatch) throws(StorageError) -> CommitID
    /// The function that makes all appended batches durable.
    package let flush: @Sendable () throws(StorageError) -> Void
    /// Cancellation of a CREATE INDEX; nil if it cannot be cancelled.
    package var stop: EvaluationStop?

    package init(
        append: @escaping @Sendable (WriteBatch) throws(StorageError) -> CommitID,
        flush: @escaping @Sendable () throws(StorageError) -> Void
    ) {
        self.append = append
        self.flush = flush
    }
}

extension CommitSink {
    /// A sink for reading statements, which refuses all writes.
    package static let refusing = CommitSink(
        append: { (_) throws(StorageError) in throw .readOnly },
        flush: { () throws(StorageError) in throw .readOnly })
}
