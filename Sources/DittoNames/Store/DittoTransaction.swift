import Sheaf

/// Several statements on one snapshot that become one commit.
///
/// It is valid only within the block that it was passed to.
public final class DittoTransaction: Sendable {
    /// The store that the transaction reads and writes.
    public let store: DittoStore
    private let transaction: StoreTransaction

    init(_ transaction: StoreTransaction, of store: DittoStore) {
        self.transaction = transaction
        self.store = store
    }

    /// The description of the transaction.
    public var info: DittoTransactionInfo { DittoTransactionInfo(transaction.info) }

    /// Runs a statement, which sees the writes of the earlier ones.
    @discardableResult
    public nonisolated(nonsending) func execute(
        query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        let statement = try DittoStatement(query, arguments)
        let result = try await inDittoWords {
            try await transaction.execute(statement.query, statement.arguments)
        }
        return DittoQueryResult(
            result, isReading: store.isReading(statement), store.errorHandler)
    }

    /// Runs a statement, which sees the writes of the earlier ones.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        try await execute(query: query, arguments: arguments)
    }

    /// Commits the transaction; returns once the commit is durable.
    ///
    /// Later uses of the transaction throw. The commit is kept even if the block then throws;
    /// returning `.rollback` from the block is an error.
    @discardableResult
    public nonisolated(nonsending) func commit() async throws
        -> DittoTransactionCompletionAction
    {
        try await inDittoWords { try await transaction.end(with: .commit) }
        return .commit
    }

    /// Rolls the transaction back.
    ///
    /// Later uses of the transaction throw; returning `.commit` from the block is an error.
    @discardableResult
    public nonisolated(nonsending) func rollback() async throws
        -> DittoTransactionCompletionAction
    {
        try await inDittoWords { try await transaction.end(with: .rollback) }
        return .rollback
    }
}

/// The end of a transaction.
public enum DittoTransactionCompletionAction: Hashable, Sendable {
    /// Keeps all writes.
    case commit
    /// Discards all writes.
    case rollback
}

/// The description of a transaction.
public struct DittoTransactionInfo: Hashable, Sendable {
    /// The identifier of the transaction, unique among those of its store.
    public let id: String
    /// The purpose of the transaction, for messages.
    public let hint: String?
    /// Whether the transaction refuses statements that write.
    public let isReadOnly: Bool

    init(_ info: TransactionInfo) {
        id = info.id
        hint = info.hint
        isReadOnly = info.isReadOnly
    }
}
