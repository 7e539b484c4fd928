#if PostgreSQL
    import CPQ

    extension PQFailure {
        /// Creates a failure from a result of libpq.
        init(_ result: PQResult, on connection: OpaquePointer) {
            let state = result.field(sheaf_pq_state) ?? ""
            if state.isEmpty || PQstatus(connection) != CONNECTION_OK {
                self.init(.connection, Self.message(of: connection))
                return
            }
            var text = result.field(sheaf_pq_message) ?? "an error without a text"
            if let detail = result.field(sheaf_pq_detail) { text += " (\(detail))" }
            self.init(Kind(state: state), "\(text) [\(state)]")
        }

        /// Returns the message of a connection on one line.
        static func message(of connection: OpaquePointer) -> String {
            let lines = String(cString: PQerrorMessage(connection)).split(separator: "\n")
            return lines.isEmpty ? "the connection ended" : lines.joined(separator: " ")
        }
    }
#endif
