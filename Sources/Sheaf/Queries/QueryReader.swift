package import SheafDocument
package import SheafQuery
package import SheafStorage

/// Runs statements that only read against a store that nobody has opened for writing.
///
/// Entries of indexes that no checkpoint has are made in memory, as an opening would make them.
package final class QueryReader {
    /// What the statements see.
    package let snapshot: DocumentSnapshot
    /// Why there are no indexes, where there are none for being damaged.
    private let linkFailure: EngineError?
    private let options: LogStoreOptions
    private var parameters = SystemParameters()

    /// Reads the newest state of the store.
    package init(
        _ reader: LogReader, options: LogStoreOptions = LogStoreOptions()
    ) throws(QueryError) {
        do throws(EngineError) {
            let state = try onStorage { () throws(StorageError) in try reader.mendableSnapshot() }
            let directory = try Directory(state.snapshot)
            // Without indexes everything can still be read, but for what is damaged.
            let (log, failure) = Self.mend(state, directory)
            snapshot = DocumentSnapshot(log, directory)
            linkFailure = failure
        } catch {
            throw QueryError(error)
        }
        self.options = options
    }

    private static func mend(
        _ state: MendableSnapshot, _ directory: Directory
    ) -> (LogSnapshot, EngineError?) {
        do throws(EngineError) {
            return (try LinkMender.mend(state, directory), nil)
        } catch {
            return (state.snapshot, error)
        }
    }

    /// Runs a statement; one that would write is refused.
    package func execute(
        _ statement: Statement, _ arguments: [String: Value] = [:]
    ) throws(QueryError) -> QueryOutcome {
        do throws(QueryError) { return try run(statement, arguments) } catch {
            throw error.wantingIndexes(of: snapshot, linkFailure)
        }
    }

    private func run(
        _ statement: Statement, _ arguments: [String: Value]
    ) throws(QueryError) -> QueryOutcome {
        let reader = reader()
        let run = run(statement, arguments, on: reader)
        let rows: QueryRows
        switch statement.kind {
        case .reading: rows = try run.rows()
        case .advising(isProvisioning: false):
            try QueryError.check(linkFailure, of: snapshot)
            rows = try run.advice().rows
        case .system:
            rows = QueryRows(objects: [
                try parameters.apply(try run.configuration(), in: statement.text)
            ])
        case .writing, .createIndex, .dropIndex, .advising:
            throw QueryError(.failed, "\(StorageError.readOnly)")
        }
        return QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
    }

    /// The plan of a statement, as a tree for people.
    package func planText(
        _ statement: Statement, _ arguments: [String: Value] = [:]
    ) throws(QueryError) -> String {
        try run(statement, arguments, on: reader()).planText()
    }

    private func reader() -> SnapshotReader {
        SnapshotReader(snapshot, virtual: SystemCollections(parameters, clock: options.clock))
    }

    private func run(
        _ statement: Statement, _ arguments: [String: Value], on reader: SnapshotReader
    ) -> QueryRun {
        let options = QueryOptions(
            arguments: arguments, parameters: parameters, options: options)
        return QueryRun(statement, on: reader, options)
    }
}
