import Sheaf

/// Several statements on one state, which become one commit.
///
/// It is of use within the block that it was handed to.
public final class DittoTransaction: Sendable {
    /// The store whose documents it sees and changes.
    public let store: DittoStore
    private let transaction: Transaction

    init(_ transaction: Transaction, of store: DittoStore) {
        self.transaction = transaction
        self.store = store
    }

    /// What is known of the transaction.
    public var info: DittoTransactionInfo { DittoTransactionInfo(transaction.info) }

    /// Runs a statement, which sees what those before it have done.
    @discardableResult
    public nonisolated(nonsending) func execute(
        query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        let statement = try Statement(query, arguments)
        let result = try await inDittoWords {
            try await transaction.execute(statement.query, statement.arguments)
        }
        return DittoQueryResult(
            result, isReading: store.isReading(statement), store.complaints)
    }

    /// Runs a statement, which sees what those before it have done.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        try await execute(query: query, arguments: arguments)
    }

    /// Commits the transaction; returns once the commit is durable.
    ///
    /// Every later use of the transaction throws. What the block returns is returned, and what it throws
    /// is thrown; neither changes the commit.
    @discardableResult
    public nonisolated(nonsending) func commit() async throws
        -> DittoTransactionCompletionAction
    {
        try await inDittoWords { try await transaction.end(with: .commit) }
        return .commit
    }

    /// Rolls the transaction back.
    ///
    /// Every later use of the transaction throws. What the block returns is returned.
    @discardableResult
    public nonisolated(nonsending) func rollback() async throws
        -> DittoTransactionCompletionAction
    {
        try await inDittoWords { try await transaction.end(with: .rollback) }
        return .rollback
    }
}

/// What a transaction ends with.
public enum DittoTransactionCompletionAction: Hashable, Sendable {
    /// All of it is kept.
    case commit
    /// Nothing of it is kept.
    case rollback
}

/// What is known of a transaction.
public struct DittoTransactionInfo: Hashable, Sendable {
    /// Tells it from all other transactions of the process.
    public let id: String
    /// What it is for, in messages.
    public let hint: String?
    /// Whether statements that write are refused.
    public let isReadOnly: Bool

    init(_ info: TransactionInfo) {
        id = info.id
        hint = info.hint
        isReadOnly = info.isReadOnly
    }
}
