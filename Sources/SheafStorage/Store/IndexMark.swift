/// The commit up to which the index entries of a tree are complete.
///
/// Index entries are not logged, so replayed commits have none until the index repair.
package struct IndexMark: Equatable, Sendable {
    package let commit: CommitID
    /// The end of the commit in the log.
    package let end: LogPosition

    /// The mark of a tree whose index entries are complete for no commit.
    package static let none = IndexMark(commit: 0, end: .none)
}
