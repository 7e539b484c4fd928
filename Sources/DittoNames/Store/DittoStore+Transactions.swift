import Sheaf

extension DittoStore {
    /// Runs several statements as one transaction, and ends it as the block says.
    ///
    /// One transaction at a time writes, and others wait for their turn; those that only read run beside
    /// it. An error that leaves the block rolls the transaction back. A write through the store inside
    /// of the block is an error, and so is another transaction that writes: both would wait for ever.
    // Disfavored, or the compiler would take blocks without a `return` for unfinished ones of this kind.
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

    /// Runs several statements as one transaction, which is committed when the block returns a value.
    @discardableResult
    public nonisolated(nonsending) func transaction<Result>(
        hint: String? = nil, isReadOnly: Bool = false,
        with scope: nonisolated(nonsending) (DittoTransaction) async throws -> Result
    ) async throws -> Result {
        try await run(hint, isReadOnly, scope)
    }

    /// Whatever a block returns: if it says how the transaction ends, that is how it ends.
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
