/// A change of a document by a statement.
///
/// A path has the field names from the root. Missing maps on it are created, except by `unset`.
package enum Edit: Sendable {
    /// The way in which a value is set.
    package enum Mode: Sendable {
        /// Sets tokens as attachments, and merges other objects into maps field by field.
        ///
        /// All other values become registers.
        case merging
        /// Sets the value as one register.
        case register
        /// Sets the value as an attachment token.
        case attachment
    }

    case set(path: [String], to: Value, as: Mode = .merging)
    /// Removes the given parts with all their content.
    case unset(path: [String], parts: PartSet = .all)
    case increment(path: [String], by: Number)
    /// Sets a counter and discards concurrent increments.
    case restart(path: [String], with: Number)
    case incrementOlder(path: [String], by: Number)
}
