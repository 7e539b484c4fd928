#if Inspector
    import SheafSystem

    /// The state that the callbacks of a server share.
    final class ServerContext: Sendable {
        private struct State: Sendable {
            /// The running requests, by their number.
            var tasks: [UInt64: Task<Void, Never>] = [:]
            /// The requests whose connection is suspended until they are answered.
            var suspended: Set<UInt64> = []
            /// The bodies that are being sent.
            var streams: [UInt64: StreamBody] = [:]
            var next: UInt64 = 0
            var isStopping = false
        }

        let handler: any HTTPHandler
        let limits: ServerLimits
        let deadlines: ConnectionDeadlines
        private let workers = WorkerThreads()
        private let state = Monitor(State())

        init(_ handler: any HTTPHandler, _ limits: ServerLimits) throws(InspectorError) {
            (self.handler, self.limits) = (handler, limits)
            deadlines = ConnectionDeadlines(seconds: limits.seconds)
            do throws(ThreadRefused) {
                try workers.start(count: limits.threads)
                try deadlines.start()
            } catch {
                workers.stop()
                throw InspectorError("the inspector cannot create a thread (error \(error.code))")
            }
        }

        /// Begins a request: calls `suspend`, then runs `body`, which must call `ended`.
        ///
        /// Returns false if the server is stopping.
        func begin(
            suspend: () -> Void, _ body: @escaping @Sendable (_ number: UInt64) async -> Void
        ) -> Bool {
            let number = state.withLock { state -> UInt64? in
                guard !state.isStopping else { return nil }
                state.next += 1
                state.suspended.insert(state.next)
                return state.next
            }
            guard let number else { return false }
            suspend()
            let task = Task(executorPreference: workers) { await body(number) }
            let isStopping = state.withLock { state in
                if state.suspended.contains(number) { state.tasks[number] = task }
                return state.isStopping
            }
            if isStopping { task.cancel() }
            return true
        }

        /// Ends a request whose connection has been resumed.
        func ended(_ number: UInt64) {
            state.withLock { state in
                state.tasks[number] = nil
                state.suspended.remove(number)
            }
            state.broadcast()
        }

        /// Adds a body that must end when the server stops; nil if it is stopping.
        func add(_ stream: StreamBody) -> UInt64? {
            state.withLock { state in
                guard !state.isStopping else { return nil }
                state.next += 1
                state.streams[state.next] = stream
                return state.next
            }
        }

        /// Removes a body that has been sent, or whose connection has ended.
        func removeStream(_ number: UInt64) {
            state.withLock { $0.streams[number] = nil }
        }

        /// Cancels all requests, ends all bodies, and waits until no connection is suspended.
        func beginStopping() {
            let (tasks, streams) = state.withLock { state in
                state.isStopping = true
                return (Array(state.tasks.values), Array(state.streams.values))
            }
            for task in tasks { task.cancel() }
            for stream in streams { stream.end() }
            state.wait { !$0.suspended.isEmpty }
        }

        func stopThreads() {
            deadlines.stop()
            workers.stop()
        }
    }
#endif
