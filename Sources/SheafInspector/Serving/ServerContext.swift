#if Inspector
    import SheafSystem

    /// The state that the callbacks of a server share.
    final class ServerContext: Sendable {
        private struct State: Sendable {
            /// The running requests.
            var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
            /// The requests whose connection is suspended until they are answered.
            var suspended: Set<ObjectIdentifier> = []
            /// The bodies that are being sent.
            var streams: [ObjectIdentifier: StreamBody] = [:]
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
            _ request: ObjectIdentifier, suspend: () -> Void,
            _ body: @escaping @Sendable () async -> Void
        ) -> Bool {
            let begins = state.withLock { state -> Bool in
                guard !state.isStopping else { return false }
                state.suspended.insert(request)
                return true
            }
            guard begins else { return false }
            suspend()
            let task = Task(executorPreference: workers) { await body() }
            let isStopping = state.withLock { state in
                if state.suspended.contains(request) { state.tasks[request] = task }
                return state.isStopping
            }
            if isStopping { task.cancel() }
            return true
        }

        /// Ends a request whose connection has been resumed.
        func ended(_ request: ObjectIdentifier) {
            state.withLock { state in
                state.tasks[request] = nil
                state.suspended.remove(request)
            }
            state.broadcast()
        }

        /// Adds a body that must end when the server stops; returns false if it is stopping.
        func add(_ stream: StreamBody) -> Bool {
            state.withLock { state -> Bool in
                guard !state.isStopping else { return false }
                state.streams[ObjectIdentifier(stream)] = stream
                return true
            }
        }

        /// Removes a body that has been sent, or whose connection has ended.
        func remove(_ stream: StreamBody) {
            state.withLock { $0.streams[ObjectIdentifier(stream)] = nil }
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
