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
            var deadlines: [Int32: UInt64] = [:]
            var isStopped = false
            var thread: Thread?
        }

        private let nanoseconds: UInt64
        private let state = Monitor(State())

        init(seconds: Int) {
            nanoseconds = UInt64(seconds) * 1_000_000_000
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
            let deadline = Clock.system.monotonicNanoseconds() + nanoseconds
            state.withLock { $0.deadlines[socket] = deadline }
            state.signal()
        }

        /// Ends the time for a request on a socket, which has arrived or will not.
        func end(_ socket: Int32) {
            state.withLock { $0.deadlines[socket] = nil }
        }

        /// Waits, then closes the connections whose deadline has passed; false when stopped.
        private func disconnect() -> Bool {
            let isStopped = state.wait(
                while: { $0.deadlines.isEmpty && !$0.isStopped }, then: { $0.isStopped })
            guard !isStopped else { return false }
            // A fixed wait instead of one for each deadline: many connections cause few wake-ups.
            let deadline = Clock.system.monotonicNanoseconds() + nanoseconds / 4
            state.wait(until: deadline) { !$0.isStopped }
            let now = Clock.system.monotonicNanoseconds()
            state.withLock { state in
                for (socket, deadline) in state.deadlines where deadline <= now {
                    // The socket is open: its end is reported within the lock before it is closed.
                    shutdown(socket, Int32(SHUT_RDWR))
                    state.deadlines[socket] = nil
                }
            }
            return true
        }
    }
#endif
