/// What a statement wants to have changed in a document.
///
/// A path names the fields on the way from the root. Maps that it leads through are made.
package enum Edit: Sendable {
    /// How a value is set.
    package enum Mode: Sendable {
        /// Tokens of attachments are attachments, other objects are maps, whose fields are set one by one; all
        /// else is a register.
        case merging
        /// The whole value is one register.
        case register
        /// The value is the token of an attachment.
        case attachment
    }

    case set(path: [String], to: Value, as: Mode = .merging)
    /// Removes these parts with all that is below them.
    case unset(path: [String], parts: PartSet = .all)
    case increment(path: [String], by: Number)
    /// Sets a counter, and forgets what was counted, also where it has not been seen yet.
    case restart(path: [String], with: Number)
    case incrementOlder(path: [String], by: Number)
}
