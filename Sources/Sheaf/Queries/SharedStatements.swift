import SheafDocument
import SheafQuery
import Synchronization

/// The statements that were parsed and are kept, for the engine and for `system:shared_statements`.
final class SharedStatements: Sendable {
    let cache = Mutex(StatementCache())

    /// The rows of `system:shared_statements`, the statement used last first.
    var rows: [Object] {
        cache.withLock { $0.statements }.map { statement in
            [
                "_id": .string(statement.text), "statement": .string(statement.text),
                "parameters": .array(statement.parameters.map(Value.string)),
            ]
        }
    }
}
