#if PostgreSQL
    import CPQ
    import SheafSystem

    /// The statements of a connection outside of a pipeline, each of which waits for its result.
    struct PQStatements {
        private let connection: OpaquePointer
        private let signal: WorkerSignal

        init(_ connection: OpaquePointer, _ signal: WorkerSignal) {
            self.connection = connection
            self.signal = signal
        }

        /// Runs a statement, and returns its rows in binary form.
        @discardableResult
        func run(
            _ statement: String, _ parameters: [PQParameter] = []
        ) throws(PQFailure) -> PQResult {
            let isSent = PQParameter.withPointers(of: parameters[...]) { pointers, lengths in
                PQsendQueryParams(
                    connection, statement, Int32(clamping: pointers.count), nil, pointers, lengths,
                    Array(repeating: 1, count: pointers.count), 1)
            }
            return try result(isSent)
        }

        /// Runs statements without parameters in one transaction.
        func script(_ statements: String) throws(PQFailure) {
            _ = try result(PQsendQuery(connection, statements))
        }

        /// Prepares a statement under a name.
        func prepare(_ statement: String, as name: String) throws(PQFailure) {
            _ = try result(PQsendPrepare(connection, name, statement, 0, nil))
        }

        /// Waits for the end of a statement that was sent.
        private func result(_ isSent: Int32) throws(PQFailure) -> PQResult {
            guard isSent == 1 else {
                throw PQFailure(.connection, PQFailure.message(of: connection))
            }
            let deadline = ResponseDeadline(from: Clock.system.monotonicNanoseconds())
            var last: PQResult?
            var failed: PQResult?
            while true {
                try waitForResult(until: deadline)
                guard let next = PQgetResult(connection) else { break }
                let result = PQResult(next)
                if !result.isSuccess, failed == nil { failed = result }
                last = result
            }
            if let failed { throw PQFailure(failed, on: connection) }
            guard let last else {
                throw PQFailure(.connection, PQFailure.message(of: connection))
            }
            return last
        }

        private func waitForResult(until deadline: ResponseDeadline) throws(PQFailure) {
            while true {
                let rest = PQflush(connection)
                guard rest >= 0 else {
                    throw PQFailure(.connection, PQFailure.message(of: connection))
                }
                guard rest > 0 || PQisBusy(connection) != 0 else { return }
                guard !signal.isStopped else {
                    throw PQFailure(.connection, "the hub log was stopped")
                }
                guard !deadline.hasPassed(at: Clock.system.monotonicNanoseconds()) else {
                    throw PQFailure(
                        .timeout,
                        "no response within \(PostgreSQLLimits.responseSeconds) seconds")
                }
                signal.wait(for: PQsocket(connection), isWriting: rest > 0, until: deadline.time)
                // The thread checks for work after each statement.
                signal.drain()
                guard PQconsumeInput(connection) == 1 else {
                    throw PQFailure(.connection, PQFailure.message(of: connection))
                }
            }
        }

        /// Waits for a notification, the signal or a deadline of the monotonic clock.
        func wait(until deadline: UInt64) throws(PQFailure) {
            signal.wait(for: PQsocket(connection), until: deadline)
            guard PQconsumeInput(connection) == 1 else {
                throw PQFailure(.connection, PQFailure.message(of: connection))
            }
        }

        // MARK: - Opening

        /// Reads the state of the server, and lets commits wait for the disk and the standbys.
        func readServer() throws(PQFailure) -> PostgreSQLServer {
            let row = try run(PostgreSQLSchema.server)
            guard let system = row.text(0, 0), let digits = row.text(0, 1),
                let timeline = UInt32(digits, radix: 16), row.text(0, 6) == "off"
            else {
                throw PQFailure(
                    .connection,
                    "the server is a standby or read-only; name the primary in the connection "
                        + "string, or all servers and target_session_attrs=read-write")
            }
            var warnings: [PostgreSQLWarning] = []
            if row.text(0, 2) != "on" { warnings.append(.noSync) }
            if row.text(0, 3) != "on" { warnings.append(.noFullPages) }
            let commit = row.text(0, 4) ?? ""
            if commit != "on", commit != "remote_apply" {
                warnings.append(.weakCommit(commit))
                try script("SET synchronous_commit = on")
            }
            if row.text(0, 5)?.isEmpty ?? true { warnings.append(.noStandby) }
            return PostgreSQLServer(
                systemIdentifier: system, timeline: timeline,
                version: Int(PQserverVersion(connection)), warnings: warnings)
        }

        /// Creates the tables if they are missing, and compares their version.
        func prepareTables() throws(PQFailure) {
            let found: PQResult
            do throws(PQFailure) {
                found = try run("SELECT version FROM sheaf.version")
            } catch {
                guard error.kind == .noTables else { throw error }
                try script(PostgreSQLSchema.creation)
                found = try run("SELECT version FROM sheaf.version")
            }
            let version = try found.number(0, 0)
            guard version == PostgreSQLSchema.version else {
                throw PQFailure(
                    .refused,
                    "the schema sheaf has version \(version), and this program uses version "
                        + "\(PostgreSQLSchema.version); use a program of the same version")
            }
        }
    }
#endif
