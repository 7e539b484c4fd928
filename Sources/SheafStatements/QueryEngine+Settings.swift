import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import Synchronization

/// Statements that change indexes and parameters.
extension QueryEngine {
    // MARK: Indexes

    /// Runs CREATE INDEX.
    func create(
        _ index: CreateIndex, in text: String, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        let collection = index.collection
        guard !collection.text.hasPrefix("system:"), !collection.text.hasPrefix("__") else {
            throw QueryError(
                .meaning, "\(collection.text) belongs to the system, and has no indexes",
                at: collection.range, in: text)
        }
        do throws(EngineError) {
            let receipt = try documents.createIndex(
                index.name.text, on: index.collection.text,
                index.fields.map {
                    IndexDefinition.Field($0.path.names, isDescending: $0.isDescending)
                }, ifNotExists: index.allowsExisting,
                until: sink.stop, flush: sink.flush, append: sink.append)
            return QueryOutcome(
                rows: QueryRows(), reader: reader(parameters), mutatedIDs: [],
                commit: receipt.commit)
        } catch {
            throw QueryError(error).located(at: index.name.range, in: text)
        }
    }

    /// Runs DROP INDEX.
    func drop(
        _ index: DropIndex, in text: String, _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        do throws(EngineError) {
            let receipt = try documents.dropIndex(
                index.name.text, on: index.collection.text, ifExists: index.allowsMissing,
                append: sink.append)
            return QueryOutcome(
                rows: QueryRows(), reader: reader(parameters), mutatedIDs: [],
                commit: receipt.commit)
        } catch {
            throw QueryError(error).located(at: index.name.range, in: text)
        }
    }

    /// Runs ADVISE; creates the suggested indexes if `isProvisioning`.
    func advise(
        _ statement: Statement, _ arguments: ArgumentValues, isProvisioning: Bool,
        _ sink: CommitSink
    ) throws(QueryError) -> QueryOutcome {
        let parameters = parameters
        let reader = reader(parameters)
        try QueryError.checkIndexes(source.indexFailure, of: reader.snapshot)
        let advice = try run(statement, arguments, parameters, on: reader).advice()
        var commit: CommitID?
        if isProvisioning {
            // A writing statement that changes nothing reports the newest commit.
            commit = reader.snapshot.log.commit
            for index in advice.indexes {
                commit = try create(index, in: statement.text, sink).commit
            }
        }
        return QueryOutcome(
            rows: advice.rows, reader: reader, mutatedIDs: [], commit: commit)
    }

    // MARK: Parameters

    /// Runs ALTER SYSTEM or SHOW on the newest durable snapshot.
    func configure(
        _ statement: Statement, _ arguments: ArgumentValues
    ) throws(QueryError) -> QueryOutcome {
        let parameters = parameters
        let reader = reader(parameters)
        let change = try run(statement, arguments, parameters, on: reader).configuration()
        return try configure(change, in: statement, on: reader)
    }

    /// Sets, resets or shows parameters.
    func configure(
        _ change: ConfigurationChange, in statement: Statement, on reader: SnapshotReader
    ) throws(QueryError) -> QueryOutcome {
        let row = try sharedParameters.withLock { (shared) throws(QueryError) in
            var values = shared.values
            let row = try values.apply(change, in: statement.text)
            shared = shared.with(values)
            return row
        }
        var notes: [String] = []
        if case .set(let name, _) = change, SystemParameters.isIgnored(name) {
            notes = ["the parameter \(name) has no effect here"]
        }
        return QueryOutcome(
            rows: QueryRows(objects: [row], notes: notes), reader: reader, mutatedIDs: [],
            commit: nil)
    }
}
