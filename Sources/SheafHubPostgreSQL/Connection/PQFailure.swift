#if PostgreSQL
    import CPQ
    import SheafHubLog

    /// A failed statement or connection.
    struct PQFailure: Error, Equatable, Sendable {
        /// The action that a failure requires.
        enum Kind: Equatable, Sendable {
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
        }

        let kind: Kind
        let message: String

        init(_ kind: Kind, _ message: String) {
            self.kind = kind
            self.message = message
        }

        /// Creates a failure from a result of libpq.
        init(_ result: PQResult, on connection: OpaquePointer) {
            let state = result.field(sheaf_pq_state) ?? ""
            if state.isEmpty || PQstatus(connection) != CONNECTION_OK {
                self.init(.connection, Self.message(of: connection))
                return
            }
            var text = result.field(sheaf_pq_message) ?? "an error without a text"
            if let detail = result.field(sheaf_pq_detail) { text += " (\(detail))" }
            self.init(Self.kind(of: state), "\(text) [\(state)]")
        }

        /// Returns the message of a connection on one line.
        static func message(of connection: OpaquePointer) -> String {
            let lines = String(cString: PQerrorMessage(connection)).split(separator: "\n")
            return lines.isEmpty ? "the connection ended" : lines.joined(separator: " ")
        }

        private static func kind(of state: String) -> Kind {
            switch state {
            case "23505": return .repetition
            case "42P01", "3F000": return .noTables
            case "57014": return .timeout
            // A read-only transaction: the server has become a standby.
            case "25006": return .connection
            case "55P03", "55006": return .conflict
            default: break
            }
            switch state.prefix(2) {
            case "08", "57": return .connection
            case "40": return .conflict
            case "53", "58": return .resources
            default: return .refused
            }
        }

        /// The failure as users of a hub log see it.
        ///
        /// - Parameter request: The request that failed, a noun.
        func error(of request: String) -> HubLogError {
            switch kind {
            case .connection: .disconnected(message)
            case .timeout, .conflict: .timeout("\(request): \(message)")
            case .resources: .full(message)
            case .repetition, .noTables, .refused: .refused("\(request): \(message)")
            }
        }
    }
#endif
