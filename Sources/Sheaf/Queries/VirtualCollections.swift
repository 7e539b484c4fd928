package import SheafDocument
package import SheafQuery

/// The collections of the system, which are made when somebody reads them.
package protocol VirtualCollections: Sendable {
    /// The names of all collections, behind `system:`.
    var names: [String] { get }

    /// The rows of a collection, by its name behind `system:`; none where there is none.
    func rows(
        of name: String, in snapshot: DocumentSnapshot
    ) throws(QueryError) -> [Object]?
}
