import Sheaf

extension DittoStore {
    /// Runs several statements as one transaction, ended as the block's return value requests.
    ///
    /// One transaction writes at a time, and others wait; read-only transactions run concurrently.
    /// An error thrown by the block rolls the transaction back. In the block, a write through the
    /// store and another writing transaction throw, since they would deadlock.
    // Otherwise the compiler would choose this overload for blocks without a `return`.
    @_disfavoredOverload
    @discardableResult
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        with scope:
            nonisolated(nonsending) (DittoTransaction) async throws ->
            DittoTransactionCompletionAction
    ) async throws -> DittoTransactionCompletionAction {
        try await run(hint, isReadOnly, scope)
    }

    /// Runs several statements as one transaction, which is committed when the block returns.
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        with scope: nonisolated(nonsending) (DittoTransaction) async throws -> Void
    ) async throws {
        try await run(hint, isReadOnly, scope)
    }

    /// Runs several statements as one transaction, committed when the block returns a value.
    @discardableResult
    public nonisolated(nonsending) func transaction<Result>(
        hint: String? = nil, isReadOnly: Bool = false,
        with scope: nonisolated(nonsending) (DittoTransaction) async throws -> Result
    ) async throws -> Result {
        try await run(hint, isReadOnly, scope)
    }

    /// Runs a transaction, which ends as the returned action requests; any other value commits it.
    private nonisolated(nonsending) func run<Result>(
        _ hint: String?, _ isReadOnly: Bool,
        _ scope: nonisolated(nonsending) (DittoTransaction) async throws -> Result
    ) async throws -> Result {
        try await inDittoWords {
            try await sheaf.transaction(hint: hint, isReadOnly: isReadOnly) { transaction in
                try await scope(DittoTransaction(transaction, of: self))
            } endingAs: { result in
                switch result as? DittoTransactionCompletionAction {
                case .commit: .commit
                case .rollback: .rollback
                case nil: nil
                }
            }
        }
    }
}
