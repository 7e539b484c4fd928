/// What was done to the rows of a result, one step after the other.
package enum RowEdit: Sendable {
    /// A row of the document with this id comes.
    case insert(at: Int, id: [UInt8])
    case remove(at: Int, id: [UInt8])
    /// The row says something else, and stays where it is.
    case update(at: Int)
    /// The row is taken out, and put to an index of what is left.
    case move(from: Int, to: Int, isUpdated: Bool)
}
