/// Up to which commit the links of a tree are right.
///
/// Links are not in the log, so what was read from there has none: they are put right afterwards.
package struct LinkMark: Equatable, Sendable {
    package let commit: CommitID
    /// Where that commit ends in the log.
    package let end: LogPosition

    /// Nothing is known of the links.
    package static let none = LinkMark(commit: 0, end: .none)
}
