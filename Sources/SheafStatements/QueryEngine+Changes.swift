package import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import Synchronization

/// Statements that change documents.
extension QueryEngine {
    /// Applies a writing statement to a transaction.
    func change(
        _ statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters,
        in transaction: inout DocumentTransaction
    ) throws(StoreError) -> QueryOutcome {
        setLimits(of: &transaction, parameters.values)
        let reader = transaction.reader(self, parameters)
        var applied = AppliedMutations()
        func consume(_ mutations: [Mutation], _ returned: FieldTypes?) throws(StoreError) {
            try apply(
                mutations, returned, to: &transaction, &applied, of: statement,
                reader.interruption)
        }
        // The reader keeps the pending documents that it has, so the statement does not see its own
        // changes.
        let appliesEarly = reader.pending.isCheapToCopy
        let (plan, run) = try withoutActuallyEscaping(consume) { (consumer) throws(StoreError) in
            try self.plan(
                statement, arguments, parameters, on: reader, appliesEarly ? consumer : nil)
        }
        let pendingCollections = plan.mutations.isEmpty ? reader.pending.collections : []
        // The plan is complete and no longer reads pending documents.
        reader.releasePending()
        try apply(
            plan.mutations, plan.returned, to: &transaction, &applied, of: statement,
            reader.interruption)
        let rows = try run?.returned(
            plan.older + applied.documents, by: plan, changing: applied.ids.count)
        return QueryOutcome(
            rows: rows ?? QueryRows(), reader: reader, mutatedIDs: applied.ids,
            pendingCollections: pendingCollections, largeDocuments: transaction.largeDocuments)
    }

    /// The ids of the documents that a statement has changed, and those that RETURNING shows.
    private struct AppliedMutations {
        var ids: [Value] = []
        var documents: [Object] = []
    }

    private func apply(
        _ mutations: [Mutation], _ returned: FieldTypes?,
        to transaction: inout DocumentTransaction, _ applied: inout AppliedMutations,
        of statement: Statement, _ interruption: Interruption?
    ) throws(StoreError) {
        if let first = mutations.first, case .evict = first.action {
            do throws(StoreError) { try checkEviction() } catch {
                throw error.located(at: first.range, in: statement.text)
            }
        }
        if applied.ids.isEmpty { applied.ids.reserveCapacity(mutations.count) }
        for (number, mutation) in mutations.enumerated() {
            if number & 0xFF == 0xFF { try interruption?.check() }
            guard try Self.change(&transaction, mutation, in: statement.text) else { continue }
            applied.ids.append(mutation.id)
            guard let returned else { continue }
            if let object = try transaction.object(mutation, returned) {
                applied.documents.append(object)
            }
        }
    }

    /// Refuses EVICT from now on, because the store is that of a hub.
    package func refuseEvictions() { keepsDocuments.store(true, ordering: .relaxed) }

    /// Throws if documents must not be evicted.
    ///
    /// Clients and other hubs rely on the documents of a hub: one that is evicted before it is in
    /// the hub log would be in no log at all.
    package func checkEviction() throws(StoreError) {
        guard keepsDocuments.load(ordering: .relaxed) else { return }
        throw StoreError(
            .meaning,
            "a hub keeps all documents, so it cannot evict any; "
                + "evict them at clients, or delete them everywhere with DELETE")
    }

    /// Sets the size limits of the documents that a statement writes.
    func setLimits(of transaction: inout DocumentTransaction, _ parameters: SystemParameters) {
        transaction.maximumLength = parameters.hardSizeLimit
        transaction.keepsCounters = true
        if log != nil { transaction.largeDocumentLength = parameters.softSizeLimit }
        transaction.largeDocuments = []
    }

    /// Applies the mutation of one document; locates its error in the statement.
    private static func change(
        _ transaction: inout DocumentTransaction, _ mutation: Mutation, in text: String
    ) throws(StoreError) -> Bool {
        do throws(StoreError) { return try transaction.apply(mutation) } catch {
            throw error.located(at: mutation.range, in: text)
        }
    }

    /// Returns the mutations of a statement, and the run that computes its returned rows, if any.
    private func plan(
        _ statement: Statement, _ arguments: ArgumentValues, _ parameters: SharedParameters,
        on reader: SnapshotReader, _ consumer: MutationConsumer?
    ) throws(StoreError) -> (MutationPlan, QueryRun?) {
        if parameters.haveNoEffect(on: statement),
            let plan = try statement.fastPath?.mutations(
                arguments, newID: { RandomID.make(options.random) })
        {
            guard plan.returnsRows else { return (plan, nil) }
            return (plan, makeRun(statement, arguments, parameters, on: reader))
        }
        let run = makeRun(statement, arguments, parameters, on: reader)
        return (try run.mutations(consumer), run)
    }
}
