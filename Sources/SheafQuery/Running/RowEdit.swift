/// What was done to the rows of a result, one step after the other.
package enum RowEdit: Sendable {
    /// A row of the document with this id comes; if it was there before, it may say something else now.
    case insert(at: Int, id: [UInt8], isUpdated: Bool)
    case remove(at: Int, id: [UInt8])
    /// The row says something else, and stays where it is.
    case update(at: Int)
    /// The row is taken out, and put to an index of what is left.
    case move(from: Int, to: Int, isUpdated: Bool)

    /// More edits are not kept: to compare all rows takes less time then.
    package static let maximumCount = 512
}
