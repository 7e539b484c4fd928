package import SheafDocument
package import SheafQuery
package import SheafStorage

/// Runs statements that only read against a state of the log that nobody opened for writing.
///
/// Indexes are used where the state has all their entries; what a crash left behind has none, and
/// is read without them.
package final class QueryReader {
    private let snapshot: DocumentSnapshot
    private let options: LogStoreOptions
    private var parameters = SystemParameters()

    package init(
        _ log: LogSnapshot, options: LogStoreOptions = LogStoreOptions()
    ) throws(QueryError) {
        do throws(EngineError) {
            snapshot = DocumentSnapshot(log, try Directory(log))
        } catch {
            throw QueryError(error)
        }
        self.options = options
    }

    /// Whether the store has indexes that cannot be asked in this state.
    package var lacksIndexes: Bool {
        !snapshot.directory.indexes.isEmpty && snapshot.log.linked.commit != snapshot.log.commit
    }

    /// Runs a statement; one that would write is refused.
    package func execute(
        _ statement: Statement, _ arguments: [String: Value] = [:]
    ) throws(QueryError) -> QueryOutcome {
        let reader = reader()
        let run = run(statement, arguments, on: reader)
        let rows: QueryRows
        switch statement.kind {
        case .reading: rows = try run.rows()
        case .advising(isProvisioning: false): rows = try run.advice().rows
        case .system: rows = QueryRows(objects: [try parameters.apply(try run.configuration())])
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
        SnapshotReader(snapshot, virtual: SystemCollections(parameters))
    }

    private func run(
        _ statement: Statement, _ arguments: [String: Value], on reader: SnapshotReader
    ) -> QueryRun {
        let options = QueryOptions(
            arguments: arguments, parameters: parameters, options: options)
        return QueryRun(statement, on: reader, options)
    }
}
