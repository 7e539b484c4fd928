/// An edit of the rows of a result; edits apply in sequence.
package enum RowEdit: Sendable {
    /// An insertion; `isUpdated` is false if an identical row was removed before.
    case insert(at: Int, id: [UInt8], isUpdated: Bool)
    case remove(at: Int, id: [UInt8])
    /// A change of the contents of a row in its position.
    case update(at: Int)
    /// A removal of a row, followed by its insertion at an index of the remaining rows.
    case move(from: Int, to: Int, isUpdated: Bool)

    /// Maximum number of recorded edits; beyond it, comparing all rows is faster.
    package static let maximumCount = 512
}
