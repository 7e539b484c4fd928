package import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import Synchronization

extension Store {
    /// Reads the commits that other processes have made durable; returns the newest commit.
    ///
    ///     let store = try await Store.open(at: path, options: StoreOptions(isReadOnly: true))
    ///     try await store.refresh()
    ///
    /// Statements of a read-only store read the state of the last refresh, or of the opening. A
    /// running statement or transaction keeps its snapshot. While the store has observers it
    /// refreshes by itself. A store that is open for writing has nothing to refresh.
    @discardableResult
    public nonisolated(nonsending) func refresh() async throws -> Int64 {
        try await Self.runOnThread("sheaf-refresh") { [self] () throws(StoreError) in
            try refreshNow()
        }
    }

    /// Reads the commits that other processes have made durable, and blocks this thread meanwhile.
    @discardableResult
    package func refreshNow() throws(StoreError) -> Int64 {
        guard !isClosed.load(ordering: .acquiring) else { throw .closed }
        if case .reader(let reader) = queries.source {
            do throws(EngineError) { try reader.refresh() } catch { throw StoreError(error) }
        }
        return Int64(clamping: queries.snapshot().log.commit)
    }
}
