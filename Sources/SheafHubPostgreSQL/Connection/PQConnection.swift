#if PostgreSQL
    import CPQ
    import SheafSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A connection to a server, used by one thread at a time.
    ///
    /// It never cancels a statement: a commit whose wait for a standby is canceled is visible, and
    /// acknowledged, without the standby. A connection that is released while a statement runs is
    /// closed, and the statement continues.
    final class PQConnection: Sendable {
        nonisolated(unsafe) let pointer: OpaquePointer
        /// The state of the server when the connection was opened.
        let server: PostgreSQLServer
        private let warnings: ServerWarnings

        private init(
            _ pointer: OpaquePointer, _ server: PostgreSQLServer, _ warnings: ServerWarnings
        ) {
            self.pointer = pointer
            self.server = server
            self.warnings = warnings
        }

        deinit {
            PQfinish(pointer)
        }

        /// Connects to the first server of the connection string that accepts writes.
        ///
        /// Blocks until the timeouts of libpq for all of them, 5 seconds each by default.
        static func open(
            _ configuration: PostgreSQLConfiguration, _ signal: WorkerSignal
        ) throws(PQFailure) -> PQConnection {
            if let failure = signal.failure { throw failure }
            try check(configuration)
            let warnings = ServerWarnings()
            let pointer = try connect(configuration.connection)
            PQsetNoticeReceiver(
                pointer, { ServerWarnings.receive($0, $1) },
                Unmanaged.passUnretained(warnings).toOpaque())
            var isOpen = false
            // The receiver is called until the connection is closed.
            defer { withExtendedLifetime(warnings) { if !isOpen { PQfinish(pointer) } } }
            guard PQstatus(pointer) == CONNECTION_OK else {
                throw PQFailure(.connection, PQFailure.message(of: pointer))
            }
            guard PQserverVersion(pointer) >= 150_000 else {
                throw PQFailure(
                    .refused, "the server has version \(PQserverVersion(pointer)); 15 is needed")
            }
            PQsetnonblocking(pointer, 1)
            let statements = PQStatements(pointer, signal)
            try statements.script(PostgreSQLSchema.settings)
            let server = try statements.readServer()
            try statements.prepareTables()
            isOpen = true
            return PQConnection(pointer, server, warnings)
        }

        private static func connect(_ string: String) throws(PQFailure) -> OpaquePointer {
            var names: [String] = []
            var values: [String] = []
            for (name, value) in PostgreSQLConfiguration.defaults {
                names.append(name)
                values.append(value)
            }
            // A parameter replaces those before it; this one is replaced by the parameters in it.
            names += ["dbname", "client_encoding"]
            values += [string, "UTF8"]
            let keys = names.map { strdup($0) }
            let texts = values.map { strdup($0) }
            defer { for text in keys + texts { free(text) } }
            let pointer = PQconnectdbParams(
                keys.map { UnsafePointer($0) } + [nil], texts.map { UnsafePointer($0) } + [nil], 1)
            guard let pointer else {
                throw PQFailure(.resources, "no memory for a connection")
            }
            return pointer
        }

        /// Throws if a string does not configure connections; its text may contain a password.
        private static func check(
            _ configuration: PostgreSQLConfiguration
        ) throws(PQFailure) {
            let options = PQconninfoParse(configuration.connection, nil)
            defer { PQconninfoFree(options) }
            guard options != nil, !configuration.hasUnencodedSecret else {
                throw PQFailure(
                    .refused,
                    "the connection string is malformed; right are `host=a,b dbname=hubs user=hub` "
                        + "and `postgresql://hub@a,b/hubs`, with %2F for / and %40 for @ in the "
                        + "password")
            }
        }

        /// The statements of the connection, which wait with the signal of a thread.
        func statements(_ signal: WorkerSignal) -> PQStatements { PQStatements(pointer, signal) }

        /// Returns whether the server has warned since the last call.
        ///
        /// It warns when an administrator has canceled the wait for a standby.
        func takeWarning() -> Bool { warnings.take() }
    }

    extension ServerWarnings {
        /// Records a notice of the connection whose warnings are `owner`.
        fileprivate static func receive(
            _ owner: UnsafeMutableRawPointer?, _ result: OpaquePointer?
        ) {
            guard let owner, let severity = PQresultErrorField(result, sheaf_pq_severity)
            else { return }
            Unmanaged<ServerWarnings>.fromOpaque(owner).takeUnretainedValue()
                .record(severity: String(cString: severity))
        }
    }
#endif
