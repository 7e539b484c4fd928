import Sheaf

extension DittoStore {
    /// Runs several statements as one transaction, and ends it as the block says.
    ///
    /// One transaction at a time writes, and others wait for their turn; those that only read run beside
    /// it. An error that leaves the block rolls the transaction back. A write through the store inside
    /// of the block is an error, and so is another transaction that writes: both would wait for ever.
    @discardableResult
    public nonisolated(nonsending) func transaction(
        hint: String? = nil, isReadOnly: Bool = false,
        with scope:
            nonisolated(nonsending) (DittoTransaction) async throws ->
            DittoTransactionCompletionAction
    ) async throws -> DittoTransactionCompletionAction {
        let completion = try await inDittoWords {
            try await sheaf.transaction(hint: hint, isReadOnly: isReadOnly) {
                transaction -> TransactionCompletion in
                switch try await scope(DittoTransaction(transaction, of: self)) {
                case .commit: .commit
                case .rollback: .rollback
                }
            }
        }
        switch completion {
        case .commit: return .commit
        case .rollback: return .rollback
        }
    }

    /// Runs several statements as one transaction, which is committed when the block returns a value.
    @discardableResult
    public nonisolated(nonsending) func transaction<Result>(
        hint: String? = nil, isReadOnly: Bool = false,
        with scope: nonisolated(nonsending) (DittoTransaction) async throws -> Result
    ) async throws -> Result {
        try await inDittoWords {
            try await sheaf.transaction(hint: hint, isReadOnly: isReadOnly) {
                transaction -> Result in
                try await scope(DittoTransaction(transaction, of: self))
            }
        }
    }
}
