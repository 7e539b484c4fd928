package import SheafDocument
import SheafQuery
import Synchronization

/// The cache of parsed statements, shared by the engine and `system:shared_statements`.
package final class SharedStatements: Sendable {
    let cache = Mutex(StatementCache())

    /// The rows of `system:shared_statements`, the most recently used statement first.
    package var rows: [Object] {
        cache.withLock { $0.statements }.map { statement in
            [
                "_id": .string(statement.text), "statement": .string(statement.text),
                "parameters": .array(statement.parameters.map(Value.string)),
            ]
        }
    }
}
