package import SheafHubLog

/// A failed statement or connection.
package struct PQFailure: Error, Equatable, Sendable {
    /// The action that a failure requires.
    package enum Kind: Equatable, Sendable {
        /// The connection ended, or the server does not accept one now.
        case connection
        /// The server did not respond.
        case timeout
        /// The server has no space or memory.
        case resources
        /// The transaction may succeed when it is tried again.
        case conflict
        /// A row with the same key exists.
        case repetition
        /// The tables of hub logs do not exist.
        case noTables
        /// The statement fails again, too.
        case refused

        /// Creates the kind of an error with this state of SQL.
        package init(state: String) {
            switch state {
            case "23505": self = .repetition
            case "42P01", "3F000": self = .noTables
            case "57014": self = .timeout
            // A read-only transaction: the server has become a standby.
            case "25006": self = .connection
            case "55P03", "55006": self = .conflict
            default:
                switch state.prefix(2) {
                case "08", "57": self = .connection
                case "40": self = .conflict
                case "53", "58": self = .resources
                default: self = .refused
                }
            }
        }
    }

    package let kind: Kind
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The failure as users of a hub log see it.
    ///
    /// - Parameter request: The request that failed, a noun.
    package func error(of request: String) -> HubLogError {
        switch kind {
        case .connection: .disconnected(message)
        case .timeout, .conflict: .timeout("\(request): \(message)")
        case .resources: .full(message)
        case .repetition, .noTables, .refused: .refused("\(request): \(message)")
        }
    }
}
