package import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage

extension Store {
    /// Evicts documents, including tombstones, in one transaction.
    package nonisolated(nonsending) func evict(
        _ documents: [(collection: String, id: Value)]
    ) async throws {
        try checkNesting { "reverting refused writes" }
        try await enter("reverting refused writes")
        let commit = try commitEvictions(documents)
        try await waitForDurability(of: commit)
    }

    private func commitEvictions(
        _ documents: [(collection: String, id: Value)]
    ) throws(StoreError) -> CommitID {
        defer { leave() }
        let log = try log
        try queries.checkEviction()
        do throws(EngineError) {
            return try queries.documents.commit(
                documents.map { DocumentChange($0.collection, $0.id, .evict) }
            ) { (batch) throws(StorageError) in try log.append(batch) }.commit
        } catch {
            throw StoreError(error)
        }
    }
}
