package import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStorage

/// The documents that a statement reads, and the transaction that it changes.
package protocol StatementContext {
    /// Returns the snapshot with all documents; nil if some of them are pending.
    func completeSnapshot(_ engine: QueryEngine) -> DocumentSnapshot?

    /// Returns a reader of all documents.
    func reader(_ engine: QueryEngine, _ parameters: SharedParameters) -> SnapshotReader

    /// Calls `body` with the transaction to change; discards its changes if it throws.
    mutating func write(
        _ engine: QueryEngine,
        _ body: (inout DocumentTransaction) throws(StoreError) -> QueryOutcome
    ) throws(StoreError) -> QueryOutcome

    /// Returns the destination of commits that are not part of a transaction.
    func sink(_ engine: QueryEngine) throws(StoreError) -> CommitSink
}

extension StatementContext {
    package func sink(_ engine: QueryEngine) throws(StoreError) -> CommitSink { throw .readOnly }
}

extension StoreError {
    fileprivate static var readOnly: StoreError { StoreError(StorageError.readOnly) }
}

/// The context of a statement that is its own transaction, on the newest durable snapshot.
package struct OwnTransaction: StatementContext {
    /// The destination of the commit; nil refuses statements that write.
    let sink: CommitSink?

    package func completeSnapshot(_ engine: QueryEngine) -> DocumentSnapshot? { engine.snapshot() }

    package func reader(_ engine: QueryEngine, _ parameters: SharedParameters) -> SnapshotReader {
        engine.reader(parameters)
    }

    package func write(
        _ engine: QueryEngine,
        _ body: (inout DocumentTransaction) throws(StoreError) -> QueryOutcome
    ) throws(StoreError) -> QueryOutcome {
        let sink = try sink(engine)
        do throws(EngineError) {
            let (commit, outcome) = try engine.documents.write(from: nil, append: sink.append) {
                (transaction) throws(EngineError) in
                do throws(StoreError) { return try body(&transaction) } catch {
                    throw .evaluation(error)
                }
            }
            return outcome.with(commit)
        } catch {
            throw StoreError(error)
        }
    }

    package func sink(_ engine: QueryEngine) throws(StoreError) -> CommitSink {
        guard case .engine = engine.source, let sink else { throw .readOnly }
        return sink
    }
}

/// The context of a statement of a read-only transaction.
extension DocumentSnapshot: StatementContext {
    package func completeSnapshot(_ engine: QueryEngine) -> DocumentSnapshot? { self }

    package func reader(_ engine: QueryEngine, _ parameters: SharedParameters) -> SnapshotReader {
        engine.reader(of: self, parameters)
    }

    package func write(
        _ engine: QueryEngine,
        _ body: (inout DocumentTransaction) throws(StoreError) -> QueryOutcome
    ) throws(StoreError) -> QueryOutcome {
        throw .readOnly
    }
}

/// The context of a statement of a write transaction.
extension DocumentTransaction: StatementContext {
    package func completeSnapshot(_ engine: QueryEngine) -> DocumentSnapshot? {
        pending.isEmpty ? DocumentSnapshot(snapshot, catalog) : nil
    }

    package func reader(_ engine: QueryEngine, _ parameters: SharedParameters) -> SnapshotReader {
        reader(parameters.collections, engine.pastStates, storeNumber: engine.number)
    }

    package mutating func write(
        _ engine: QueryEngine,
        _ body: (inout DocumentTransaction) throws(StoreError) -> QueryOutcome
    ) throws(StoreError) -> QueryOutcome {
        // Other writers, and the statement itself, may have assigned numbers to names.
        catalog.adoptNames(of: engine.documents.newestCatalog)
        beginStatement()
        do throws(StoreError) {
            return try body(&self)
        } catch {
            rollBackStatement()
            throw error
        }
    }
}
