import SheafDocument
import SheafStatements

/// Where typed calls read and write.
enum TypedScope: Sendable {
    /// A store, in which each call is a transaction of its own.
    case store(Store)
    case transaction(StoreTransaction)
    /// A transaction of another store than that of the collection; all calls throw.
    case foreign(StoreTransaction)

    var store: Store {
        switch self {
        case .store(let store): store
        case .transaction(let transaction), .foreign(let transaction): transaction.store
        }
    }

    nonisolated(nonsending) func execute(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) async throws -> QueryResult {
        switch self {
        case .store(let store): try await store.execute(query, arguments)
        case .transaction(let transaction): try await transaction.execute(query, arguments)
        case .foreign: throw Self.foreignError
        }
    }

    /// Calls `body` within a transaction: that of the scope, or one of its own.
    nonisolated(nonsending) func transaction<Result>(
        _ hint: @autoclosure () -> String,
        _ body: nonisolated(nonsending) (StoreTransaction) async throws -> Result
    ) async throws -> Result {
        switch self {
        case .store(let store):
            try await store.transaction(
                hint: hint(), isReadOnly: false, body, endingAs: { _ in nil })
        case .transaction(let transaction): try await body(transaction)
        case .foreign: throw Self.foreignError
        }
    }

    private static var foreignError: StoreError {
        StoreError(
            .meaning, "the transaction is one of another store than the collection",
            hint: "use a collection of the store of the transaction")
    }
}
