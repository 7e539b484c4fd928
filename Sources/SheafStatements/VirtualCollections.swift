package import SheafDocument
package import SheafEngine
package import SheafQuery

/// The system collections, whose rows are created when they are read.
package protocol VirtualCollections: Sendable {
    /// The names of all collections, without `system:`.
    var names: [String] { get }

    /// Visits the rows of a collection, named without `system:`, until `body` returns false.
    ///
    /// Rows beyond the bounds may be omitted. A collection that does not exist has none.
    func forEachRow(
        of name: String, in snapshot: DocumentSnapshot, _ bounds: RowBounds,
        _ body: (Object) throws(StoreError) -> Bool
    ) throws(StoreError)
}

/// A set without system collections.
struct NoVirtualCollections: VirtualCollections {
    var names: [String] { [] }

    func forEachRow(
        of name: String, in snapshot: DocumentSnapshot, _ bounds: RowBounds,
        _ body: (Object) throws(StoreError) -> Bool
    ) {}
}
