#if PostgreSQL
    import CPQ
    import SheafHubLog
    import SheafSystem
    import Synchronization

    /// Connections for requests that block their callers, one for each concurrent request.
    final class RequestPool: Sendable {
        private struct Member: Sendable {
            let connection: PQConnection
            let signal: WorkerSignal
        }

        private let core: LogCore
        private let idle = Mutex<[Member]>([])

        init(_ core: LogCore) {
            self.core = core
        }

        /// Calls `body` with the statements of a connection, which no other caller uses.
        ///
        /// - Parameter request: The request for errors, a noun.
        func run<Result>(
            _ request: String, _ body: (PQStatements) throws(RequestError) -> Result
        ) throws(HubLogError) -> Result {
            guard core.enter() else { throw .disconnected("the hub log was stopped") }
            defer { core.leave() }
            do throws(RequestError) {
                return try run(body)
            } catch {
                switch error {
                case .failure(let failure): throw failure.error(of: request)
                case .error(let error): throw error
                }
            }
        }

        private func run<Result>(
            _ body: (PQStatements) throws(RequestError) -> Result
        ) throws(RequestError) -> Result {
            let member: Member
            do throws(PQFailure) { member = try take() } catch { throw .failure(error) }
            var isUsable = false
            defer { put(member, isUsable: isUsable) }
            let result = try body(member.connection.statements(member.signal))
            isUsable = PQtransactionStatus(member.connection.pointer) == PQTRANS_IDLE
            guard !member.connection.takeWarning() else {
                throw .failure(
                    PQFailure(.timeout, "the wait for a standby was canceled, not confirmed"))
            }
            return result
        }

        /// Closes the connections that are not used.
        func close() {
            for member in idle.withLock({ idle in
                defer { idle = [] }
                return idle
            }) { core.remove(member.signal) }
        }

        private func take() throws(PQFailure) -> Member {
            while let member = idle.withLock({ $0.popLast() }) {
                let pointer = member.connection.pointer
                // The server may have ended the connection since.
                let isOpen = PQconsumeInput(pointer) == 1 && PQstatus(pointer) == CONNECTION_OK
                if isOpen, core.isCurrent(member.connection) { return member }
                core.remove(member.signal)
            }
            let signal = core.makeSignal()
            do throws(PQFailure) {
                let connection = try PQConnection.open(core.configuration, signal)
                guard core.accept(connection.server) else {
                    throw PQFailure(.connection, "the server is a former primary")
                }
                return Member(connection: connection, signal: signal)
            } catch {
                core.remove(signal)
                throw error
            }
        }

        private func put(_ member: Member, isUsable: Bool) {
            let isKept =
                isUsable
                && idle.withLock { idle in
                    guard idle.count < PostgreSQLLimits.idleConnections else { return false }
                    idle.append(member)
                    return true
                }
            if !isKept { core.remove(member.signal) }
        }
    }

    /// The reason why a request failed.
    enum RequestError: Error {
        /// A statement failed.
        case failure(PQFailure)
        /// The rows are not those that the request needs, or its caller ended it.
        case error(HubLogError)
    }

    extension PQStatements {
        /// Runs a statement of a request.
        @discardableResult
        func request(
            _ statement: String, _ parameters: [PQParameter] = []
        ) throws(RequestError) -> PQResult {
            do throws(PQFailure) { return try run(statement, parameters) } catch {
                throw .failure(error)
            }
        }

        /// Runs the statements of `body` in one transaction.
        func transaction<Result>(
            _ body: () throws(RequestError) -> Result
        ) throws(RequestError) -> Result {
            try request("BEGIN")
            // After an error the connection is closed, which rolls the transaction back.
            let result = try body()
            try request("COMMIT")
            return result
        }
    }

    extension PQResult {
        /// Returns a number of a row of a request.
        func requestedNumber(_ row: Int, _ column: Int) throws(RequestError) -> UInt64 {
            do throws(PQFailure) { return try number(row, column) } catch { throw .failure(error) }
        }

        /// Returns the bytes of a row of a request.
        func requestedBytes(_ row: Int, _ column: Int) throws(RequestError) -> [UInt8] {
            do throws(PQFailure) { return try bytes(row, column) } catch { throw .failure(error) }
        }
    }
#endif
