package import SheafQuery
package import SheafStatements

extension QueryEngine {
    /// Runs a query as a point lookup; returns nil if it requires a regular run.
    package func lookUp(
        _ query: Query, _ arguments: QueryArguments
    ) throws(QueryError) -> QueryResult? {
        lookUp(try statement(query), try query.bind(arguments)).map { QueryResult($0) }
    }
}
