#if PostgreSQL
    import SheafHubLog
    import SheafSystem

    /// The host of a hub log, the servers it has seen, and the threads that may call the host.
    final class LogCore: Sendable {
        private struct State: Sendable {
            weak var host: (any HubLogHost)?
            var isStopped = false
            /// Number of uses of connections and of the host, by the thread that uses them.
            var active: [UInt: Int] = [:]
            var signals: [WorkerSignal] = []
            var server: PostgreSQLServer?
        }

        let configuration: PostgreSQLConfiguration
        private let state = Monitor(State())

        init(_ configuration: PostgreSQLConfiguration) {
            self.configuration = configuration
        }

        /// The host; nil before `start`, and after the host was released.
        var host: (any HubLogHost)? { state.withLock { $0.host } }

        /// The server of the newest connection.
        var server: PostgreSQLServer? { state.withLock { $0.server } }

        var isStopped: Bool { state.withLock { $0.isStopped } }

        /// Sets the host; returns false if there was one, or after `stop`.
        func begin(_ host: any HubLogHost) -> Bool {
            state.withLock { state in
                guard !state.isStopped, state.host == nil else { return false }
                state.host = host
                return true
            }
        }

        /// Forgets the host, so that another `begin` may follow.
        func abandon() { state.withLock { $0.host = nil } }

        /// Creates a signal that `beginStopping` uses until it is removed.
        func makeSignal() -> WorkerSignal {
            let signal = WorkerSignal()
            let isStopped = state.withLock { state in
                state.signals.append(signal)
                return state.isStopped
            }
            if isStopped { signal.stop() }
            return signal
        }

        func remove(_ signal: WorkerSignal) {
            state.withLock { state in state.signals.removeAll { $0 === signal } }
        }

        /// Counts the calling thread as active, until `leave`; returns false after `stop`.
        func enter() -> Bool {
            state.withLock { state in
                guard !state.isStopped else { return false }
                state.active[Thread.currentIdentifier, default: 0] += 1
                return true
            }
        }

        /// Ends what `enter` began.
        func leave() {
            let thread = Thread.currentIdentifier
            state.withLock { state in
                let count = state.active[thread] ?? 0
                state.active[thread] = count > 1 ? count - 1 : nil
            }
            state.broadcast()
        }

        /// Ends the waits of all threads.
        func beginStopping() {
            let signals = state.withLock { state in
                state.isStopped = true
                return state.signals
            }
            for signal in signals { signal.stop() }
        }

        /// Ends the waits of all threads, and waits for the active ones except for the caller.
        func stop() {
            beginStopping()
            let caller = Thread.currentIdentifier
            state.wait(while: { $0.active.contains { $0.key != caller } }) { $0.host = nil }
        }

        // MARK: - Connections

        /// Opens a connection, and tries again until that succeeds; nil after `stop`.
        ///
        /// The thread is active once it has a connection, and not before: `stop` does not wait for
        /// the timeouts of libpq.
        func connect(_ signal: WorkerSignal) -> PQConnection? {
            var pauses = ConnectionPauses()
            while true {
                leave()
                let result = Result { () throws(PQFailure) in
                    try PQConnection.open(configuration, signal)
                }
                guard enter() else { return nil }
                switch result {
                case .success(let connection):
                    if accept(connection.server) { return connection }
                case .failure(let failure): retry(after: failure)
                }
                signal.pause(until: pauses.begin(at: Clock.system.monotonicNanoseconds()))
            }
        }

        /// Reports a failure after which the log tries again.
        func retry(after failure: PQFailure) {
            guard !isStopped else { return }
            configuration.report(.retrying(failure.message))
        }

        /// Records the server of a new connection; returns false if another one has succeeded it.
        func accept(_ server: PostgreSQLServer) -> Bool {
            let previous = state.withLock { state in
                guard let last = state.server else {
                    state.server = server
                    return Optional(server)
                }
                let isOld = server.precedes(last)
                if !isOld { state.server = server }
                return isOld ? nil : last
            }
            guard let previous else {
                configuration.report(
                    .retrying(
                        "the server has timeline \(server.timeline), and another one has a later "
                            + "one: it is a former primary"))
                return false
            }
            if !server.hasHistory(of: previous) {
                configuration.report(.changed(from: previous, to: server))
            }
            return true
        }

        /// Whether the server of a connection is the newest one.
        func isCurrent(_ connection: PQConnection) -> Bool {
            state.withLock { state in
                state.server.map { connection.server.hasHistory(of: $0) } ?? true
            }
        }

        // MARK: - Names

        /// The channel of notifications about new entries.
        var entryChannel: String { "sheaf_log_" + configuration.database.digits }
        /// The channel of broadcasts.
        var broadcastChannel: String { "sheaf_all_" + configuration.database.digits }
    }
#endif
