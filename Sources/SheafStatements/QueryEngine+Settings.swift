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
    ) throws(StoreError) -> QueryOutcome {
        let collection = index.collection
        guard !collection.text.isReservedCollection else {
            throw StoreError(
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
                rows: QueryRows(), reader: reader(parameters), commit: receipt.commit)
        } catch {
            throw StoreError(error).located(at: index.name.range, in: text)
        }
    }

    /// Runs DROP INDEX.
    func drop(
        _ index: DropIndex, in text: String, _ sink: CommitSink
    ) throws(StoreError) -> QueryOutcome {
        do throws(EngineError) {
            let receipt = try documents.dropIndex(
                index.name.text, on: index.collection.text, ifExists: index.allowsMissing,
                append: sink.append)
            return QueryOutcome(
                rows: QueryRows(), reader: reader(parameters), commit: receipt.commit)
        } catch {
            throw StoreError(error).located(at: index.name.range, in: text)
        }
    }

    /// Runs ADVISE.
    func advise(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader
    ) throws(StoreError) -> QueryOutcome {
        QueryOutcome(rows: try advice(statement, arguments, on: reader).rows, reader: reader)
    }

    /// Runs ADVISE AND PROVISION, which creates the suggested indexes.
    func provision(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader,
        _ sink: CommitSink
    ) throws(StoreError) -> QueryOutcome {
        let advice = try advice(statement, arguments, on: reader)
        var commit: CommitID?
        for index in advice.indexes {
            commit = try create(index, in: statement.text, sink).commit
        }
        return QueryOutcome(rows: advice.rows, reader: reader, commit: commit)
    }

    private func advice(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader
    ) throws(StoreError) -> Advice {
        try StoreError.checkIndexes(source.indexFailure, of: reader.snapshot)
        return try makeRun(statement, arguments, parameters, on: reader).advice()
    }

    // MARK: Parameters

    /// Runs ALTER SYSTEM or SHOW.
    func configure(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader
    ) throws(StoreError) -> QueryOutcome {
        let change = try makeRun(statement, arguments, parameters, on: reader).configuration()
        let row = try sharedParameters.withLock { (shared) throws(StoreError) in
            var values = shared.values
            let row = try values.apply(change, in: statement.text)
            shared = shared.with(values)
            columns.setLimits(bytes: values.columnCacheBytes, scans: values.columnCacheScans)
            return row
        }
        var notes: [String] = []
        if case .set(let name, _) = change, SystemParameters.isIgnored(name) {
            notes = ["the parameter \(name) is accepted for compatibility, without effect"]
        }
        return QueryOutcome(rows: QueryRows(objects: [row], notes: notes), reader: reader)
    }
}
