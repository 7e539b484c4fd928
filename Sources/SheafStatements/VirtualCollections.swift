package import SheafDocument
package import SheafEngine

/// The system collections, whose rows are created when they are read.
package protocol VirtualCollections: Sendable {
    /// The names of all collections, without `system:`.
    var names: [String] { get }

    /// Returns the rows of a collection, named without `system:`; nil if it does not exist.
    func rows(
        of name: String, in snapshot: DocumentSnapshot
    ) throws(StoreError) -> [Object]?
}

/// A set without system collections.
struct NoVirtualCollections: VirtualCollections {
    var names: [String] { [] }

    func rows(of name: String, in snapshot: DocumentSnapshot) -> [Object]? { nil }
}
