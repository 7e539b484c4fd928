#if Inspector
    import SheafSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// Closes connections whose request does not arrive in time.
    ///
    /// The timeout of libmicrohttpd begins again with each byte, so that a few bytes now and then
    /// would occupy a connection forever.
    final class ConnectionDeadlines: Sendable {
        private struct State: Sendable {
            /// The deadlines of the sockets from which a request is awaited.
            var deadlines: RequestDeadlines
            var isStopped = false
            var thread: Thread?
        }

        private let state: Monitor<State>

        init(seconds: Int) {
            state = Monitor(State(deadlines: RequestDeadlines(seconds: seconds)))
        }

        /// Starts the thread, which sleeps while there are no connections.
        func start() throws(ThreadRefused) {
            let thread = try Thread(name: "sheaf-deadlines") { [self] in
                while disconnect() {}
            }
            state.withLock { $0.thread = thread }
        }

        /// Ends the thread.
        func stop() {
            let thread = state.withLock { state in
                state.isStopped = true
                defer { state.thread = nil }
                return state.thread
            }
            state.broadcast()
            thread?.join()
        }

        /// Begins the time for a request on a socket.
        func begin(_ socket: Int32) {
            let now = Clock.system.monotonicNanoseconds()
            state.withLock { $0.deadlines.begin(socket, at: now) }
            state.signal()
        }

        /// Ends the time for a request on a socket, which has arrived or will not.
        func end(_ socket: Int32) {
            state.withLock { $0.deadlines.end(socket) }
        }

        /// Waits, then closes the connections whose deadline has passed; false when stopped.
        private func disconnect() -> Bool {
            let deadline: UInt64? = state.wait(
                while: { $0.deadlines.isEmpty && !$0.isStopped }
            ) { state in
                guard !state.isStopped else { return nil }
                return state.deadlines.nextCheck(after: Clock.system.monotonicNanoseconds())
            }
            guard let deadline else { return false }
            state.wait(until: deadline) { !$0.isStopped }
            let now = Clock.system.monotonicNanoseconds()
            state.withLock { state in
                // The sockets are open: their end is reported within the lock before it is closed.
                for socket in state.deadlines.takeExpired(at: now) {
                    shutdown(socket, Int32(SHUT_RDWR))
                }
            }
            return true
        }
    }
#endif
