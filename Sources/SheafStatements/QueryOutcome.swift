import SheafDocument
import SheafEngine
import SheafQuery
package import SheafStorage
package import SheafSystem

/// The outcome of a statement that is not a point lookup.
package struct QueryOutcome {
    let rows: QueryRows
    /// The reader that keeps the bytes of the rows valid.
    let reader: SnapshotReader
    /// The ids of the written documents.
    var mutatedIDs: [Value] = []
    /// The commit of the changes; nil if the result has the commit of the reader.
    var commit: CommitID?
    /// Numbers of the collections whose pending changes the snapshot of the reader lacks.
    var pendingCollections: Set<UInt16> = []
    /// The written documents that exceed the soft size limit.
    var largeDocuments: [LargeDocument] = []

    /// Returns a copy with the commit of the changes.
    func with(_ commit: CommitID) -> QueryOutcome {
        var outcome = self
        outcome.commit = commit
        return outcome
    }
}

/// The functions with which statements write to the log.
package struct CommitSink: Sendable {
    /// The function that appends a batch to the log.
    package let append: @Sendable (WriteBatch) throws(StorageError) -> CommitID
    /// The function that makes all appended batches durable.
    package let flush: @Sendable () throws(StorageError) -> Void
    /// The signal that cancels CREATE INDEX; nil if there is none.
    package var stop: EvaluationStop?

    package init(
        append: @escaping @Sendable (WriteBatch) throws(StorageError) -> CommitID,
        flush: @escaping @Sendable () throws(StorageError) -> Void
    ) {
        self.append = append
        self.flush = flush
    }
}
