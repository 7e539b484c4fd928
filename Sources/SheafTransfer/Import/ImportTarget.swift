import SheafDocument
package import SheafStatements
package import SheafStorage

/// The store and the collection that an import writes to.
package struct ImportTarget: Sendable {
    package let log: LogStore
    package let queries: QueryEngine
    package let collection: String

    /// The length of log between checkpoints; without one, opening reads as much of the log.
    private static let checkpointLength = 256 << 20
    /// The length of log that one flush of an import makes durable.
    static let flushLength = 8 << 20
    /// Number of imported documents from which a checkpoint at the end saves time.
    private static let checkpointedCount = 10_000

    package init(_ log: LogStore, _ queries: QueryEngine, collection: String) {
        (self.log, self.queries, self.collection) = (log, queries, collection)
    }

    /// Opens the store at `path`, creating it if necessary, with few checkpoints and segments.
    ///
    /// Otherwise checkpoints would be written over and over while a store grows from nothing, and
    /// each megabyte would begin a segment.
    package static func openLog(at path: String) throws(StorageError) -> LogStore {
        var options = LogStoreOptions()
        options.checkpointLength = checkpointLength
        options.bulkFlushLength = flushLength
        return try LogStore.open(at: path, options: options)
    }

    /// Closes the store after an import, with a checkpoint if that is worthwhile.
    package static func close(
        _ log: LogStore, after importedCount: UInt64
    ) throws(StorageError) {
        // A checkpoint only saves time, so a full disk may refuse it.
        if importedCount >= checkpointedCount { try? log.engine.writeCheckpoint() }
        try log.close()
    }
}
