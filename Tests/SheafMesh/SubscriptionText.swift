import SheafQuery
import SheafReplication
package import SheafStatements
import SheafSync

extension SubscriptionQuery {
    /// Creates a query from its text; `*` selects all collections.
    package init(_ text: String, _ queries: QueryEngine, at time: UInt64? = nil) throws {
        guard text != SubscribedQuery.allCollections else {
            self = .allCollections
            return
        }
        try self.init(
            try queries.statement(DQL(verbatim: text)), ArgumentValues(), queries, at: time)
    }
}
