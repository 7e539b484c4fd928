import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements

/// The documents of peers.
extension DocumentScene {
    /// Returns the rows of a query, as JSON.
    func rows(_ number: Int, _ query: DQL) throws -> [String] {
        try nodes[number].store.rows(query)
    }

    /// Returns the number of different contents that the peers have of the cars.
    func checksums() throws -> Int { try Set(nodes.indices.map { try content(of: $0) }).count }

    /// Returns the cars of a peer, with all field names spelled out.
    func content(of number: Int) throws -> [DocumentAddress: [UInt8]] {
        let store = nodes[number].store
        let queries = try store.subscriptions(["SELECT * FROM cars"])
        return try store.queries.documents.snapshot().spelledContents(
            matching: SubscriptionMatcher(queries, store.queries))
    }
}
