package import SheafDocument
import Synchronization

/// The system collections whose rows come from outside of the query engine.
///
/// The replicator registers the collections about other peers here.
package final class RegisteredCollections: Sendable {
    package typealias Rows = @Sendable () -> [Object]

    /// The rows by name; collections are empty until they are registered.
    private let collections = Mutex<[String: Rows]>([
        "data_sync_info": { [] }, "health": { [] }, "hub": { [] }, "observers": { [] },
        "presence": { [] }, "refused_writes": { [] }, "subscriptions": { [] },
        "transports_info": { [] },
    ])

    package init() {}

    /// Adds a collection, named without `system:`, or replaces it.
    package func register(_ name: String, _ rows: @escaping Rows) {
        collections.withLock { $0[name] = rows }
    }

    /// The names of the registered collections, without `system:`.
    package var names: [String] { collections.withLock { Array($0.keys) } }

    /// Returns the rows of a collection; nil if it is not registered.
    package func rows(of name: String) -> [Object]? {
        let rows = collections.withLock { $0[name] }
        return rows?()
    }
}
