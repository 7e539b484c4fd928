/// The kind of a statement, which decides how the engine runs it.
package enum StatementKind: Sendable {
    /// A statement that returns rows and changes nothing.
    case reading
    /// A statement that changes documents.
    case writing
    case createIndex(CreateIndex)
    case dropIndex(DropIndex)
    /// A statement that suggests indexes.
    case advising
    /// A statement that suggests indexes, and creates them.
    case provisioning
    /// A statement that returns system parameters.
    case showing
    /// A statement that changes system parameters.
    case configuring

    /// Whether the statement changes documents or indexes, so that it must wait for other writers.
    var isWriting: Bool {
        switch self {
        case .writing, .createIndex, .dropIndex, .provisioning: true
        case .reading, .advising, .showing, .configuring: false
        }
    }

    init(_ body: Statement.Body) {
        switch body {
        case .select, .explain: self = .reading
        case .insert, .update, .delete: self = .writing
        case .createIndex(let index): self = .createIndex(index)
        case .dropIndex(let index): self = .dropIndex(index)
        case .profile(let inner): self = StatementKind(inner)
        case .advise(_, let isProvisioning): self = isProvisioning ? .provisioning : .advising
        case .show, .showAll: self = .showing
        case .set, .reset: self = .configuring
        }
    }
}
