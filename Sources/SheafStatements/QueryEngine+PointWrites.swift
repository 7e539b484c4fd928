import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSystem

/// Fast path for statements that write one document by its `_id` and return no rows.
///
/// They need neither a plan nor a reader. If a write fails, the regular run of the statement fails
/// in the same way and reports it.
extension QueryEngine {
    /// Returns the result of a point write in a transaction; nil if the statement needs a regular
    /// run.
    @inline(__always)
    func writePoint(
        _ statement: Statement, _ arguments: ArgumentValues,
        in transaction: inout DocumentTransaction, _ commitCell: CommitCell
    ) -> ResultStorage? {
        let parameters = parameters
        guard let mutation = mutation(of: statement, arguments, parameters) else { return nil }
        let start = requests.clock.monotonicNanoseconds()
        // Other writers may have assigned numbers to names.
        transaction.catalog.adoptNames(of: documents.newestCatalog)
        transaction.beginStatement()
        guard let isChanged = try? write(mutation, in: &transaction, parameters) else {
            transaction.rollBackStatement()
            return nil
        }
        let result = PointWrite(mutation, isChanged, in: transaction)
        return self.result(of: statement, result, .of(commitCell), from: start, parameters)
    }

    /// Returns the result of a point write as its own transaction; nil if the statement needs a
    /// regular run.
    func writePoint(
        _ statement: Statement, _ arguments: ArgumentValues, _ sink: CommitSink
    ) -> ResultStorage? {
        let parameters = parameters
        guard case .engine(let documents) = source,
            let mutation = mutation(of: statement, arguments, parameters)
        else { return nil }
        let start = requests.clock.monotonicNanoseconds()
        do throws(EngineError) {
            let (commit, result) = try documents.write(from: nil, append: sink.append) {
                (transaction) throws(EngineError) in
                guard let isChanged = try? write(mutation, in: &transaction, parameters) else {
                    throw .rolledBack
                }
                return PointWrite(mutation, isChanged, in: transaction)
            }
            return self.result(of: statement, result, .known(commit), from: start, parameters)
        } catch {
            return nil
        }
    }

    /// Returns the only change of a statement; nil if the statement needs a regular run.
    @inline(__always)
    private func mutation(
        of statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters
    ) -> Mutation? {
        guard case .writing = statement.kind, let fastPath = statement.fastPath,
            parameters.haveNoEffect(on: statement)
        else { return nil }
        if let insertion = fastPath.singleInsertion(arguments),
            let document = document(insertedBy: insertion)
        {
            return insertion.mutation(document) { RandomID.make(options.random) }
        }
        return fastPath.mutation(arguments) { RandomID.make(options.random) }
    }

    /// Inserts the document of a run that is already encoded, and returns its id.
    ///
    /// Returns nil if the regular run must follow: for other runs, and if nothing was changed.
    /// `ids` are those that earlier runs of the statement have inserted.
    func insertUnstamped(
        by statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters,
        after ids: [Value], in transaction: inout DocumentTransaction
    ) throws(StoreError) -> Value? {
        guard arguments.isUnstampedDocument,
            let mutation = mutation(of: statement, arguments, parameters)
        else { return nil }
        // Others may have assigned numbers that the document has.
        transaction.catalog.adoptNames(of: documents.newestCatalog)
        do throws(StoreError) {
            return try write(mutation, in: &transaction, parameters) ? mutation.id : nil
        } catch {
            let isRepeated = error.reason == .conflict && ids.contains(mutation.id)
            let reported = isRepeated ? StoreError.repeatedID(mutation.id) : error
            throw reported.located(at: mutation.range, in: statement.text)
        }
    }

    private func write(
        _ mutation: Mutation, in transaction: inout DocumentTransaction,
        _ parameters: SharedParameters
    ) throws(StoreError) -> Bool {
        setLimits(of: &transaction, parameters.values)
        return try transaction.apply(mutation)
    }

    private func result(
        of statement: Statement, _ write: PointWrite, _ commit: ResultCommit, from start: UInt64,
        _ parameters: SharedParameters
    ) -> ResultStorage {
        record(statement, from: start, mutations: write.id == nil ? 0 : 1, parameters)
        if !write.largeDocuments.isEmpty { logSize(of: write.largeDocuments) }
        return ResultStorage(
            changing: write.id, after: write.snapshot, commit, storeNumber: number,
            pendingCollections: write.pendingCollections)
    }
}

/// The outcome of a point write.
private struct PointWrite {
    /// The id of the document; nil if nothing was changed.
    let id: Value?
    /// The snapshot that the transaction began with.
    let snapshot: DocumentSnapshot
    let largeDocuments: [LargeDocument]
    /// Numbers of the collections with changes that the snapshot lacks, if nothing was changed.
    let pendingCollections: Set<UInt16>

    init(_ mutation: Mutation, _ isChanged: Bool, in transaction: borrowing DocumentTransaction) {
        id = isChanged ? mutation.id : nil
        snapshot = DocumentSnapshot(transaction.snapshot, transaction.catalog)
        largeDocuments = transaction.largeDocuments
        pendingCollections = isChanged ? [] : transaction.pending.collections
    }
}
