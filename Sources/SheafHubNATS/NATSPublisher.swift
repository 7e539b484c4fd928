#if NATS
    import CNATS
    import SheafHubLog
    import SheafSystem

    /// A thread that sends messages to streams in their order, several at a time.
    final class NATSPublisher: Sendable {
        typealias Completion = @Sendable (Result<UInt64, HubLogError>) -> Void

        /// A message that is sent without a guarantee of delivery.
        typealias Broadcast = (subject: String, bytes: [UInt8])

        /// A message for a stream.
        struct Job: Sendable {
            let subject: String
            let bytes: [UInt8]
            /// The id under which the stream stores it once; nil for none.
            var id: String?
            /// Called once with the number of the entry, on any thread, without waiting.
            let completion: Completion
        }

        private struct State {
            var jobs: [Job] = []
            /// Messages without a guarantee, which no others precede.
            var broadcasts = WaitingBroadcasts<Broadcast>()
            /// Messages that were sent and not acknowledged, by their addresses.
            var sent: [UInt: (length: Int, completion: Completion)] = [:]
            var sendingCount = 0
            var length = 0
            var isStopped = false

            /// Whether a message may be sent before others are acknowledged.
            func admits(_ job: Job) -> Bool {
                guard length > 0 || sendingCount > 0 else { return true }
                return sendingCount < maximumCount && length + job.bytes.count <= maximumLength
            }

            var canSend: Bool { jobs.first.map { admits($0) } ?? false }

            /// Removes and returns what may be sent now; nothing after the end.
            mutating func take() -> ([NATSPublisher.Job], [NATSPublisher.Broadcast]) {
                guard !isStopped else { return ([], []) }
                var count = 0
                while count < jobs.count, admits(jobs[count]) {
                    sendingCount += 1
                    length += jobs[count].bytes.count
                    count += 1
                }
                defer { jobs.removeFirst(count) }
                return (Array(jobs.prefix(count)), broadcasts.take())
            }
        }

        /// Maximum number and length of messages that are not acknowledged.
        private static let maximumCount = 4_096
        private static let maximumLength = 32 << 20

        private let state: Monitor<State>
        private let session: NATSSession
        private let thread: Thread

        init(_ session: NATSSession) throws(HubLogError) {
            let state = Monitor(State())
            (self.state, self.session) = (state, session)
            do throws(ThreadRefused) {
                thread = try Thread(name: "sheaf-hub-send") { Self.run(state, session) }
            } catch {
                throw .refused("the system has no thread for the hub log (error \(error.code))")
            }
        }

        deinit { end() }

        /// Sends a message when those before it were sent; its completion follows.
        func send(_ job: Job) {
            let isStopped = state.withLock { state in
                if !state.isStopped { state.jobs.append(job) }
                return state.isStopped
            }
            guard !isStopped else { return job.completion(.failure(.stopped)) }
            state.broadcast()
        }

        /// Sends bytes to all subscribers of a subject, without a guarantee.
        func broadcast(_ subject: String, _ bytes: [UInt8]) {
            state.withLock { state in
                guard !state.isStopped else { return }
                state.broadcasts.add((subject: subject, bytes: bytes))
            }
            state.broadcast()
        }

        /// Completes a message that was sent, by its address.
        func complete(_ message: UInt, _ result: Result<UInt64, HubLogError>) {
            Self.complete(state, message, result)
        }

        /// Ends the thread; messages that are not acknowledged fail.
        func stop() {
            end()
            thread.join()
            let completions = state.withLock { state in
                defer {
                    state.jobs = []
                    state.sent = [:]
                }
                return state.jobs.map(\.completion) + state.sent.values.map(\.completion)
            }
            for completion in completions { completion(.failure(.stopped)) }
        }

        private func end() {
            state.withLock { $0.isStopped = true }
            state.broadcast()
        }

        private static func complete(
            _ state: Monitor<State>, _ message: UInt, _ result: Result<UInt64, HubLogError>
        ) {
            let completion: Completion? = state.withLock { state in
                guard let sent = state.sent.removeValue(forKey: message) else { return nil }
                state.length -= sent.length
                state.sendingCount -= 1
                return sent.completion
            }
            state.broadcast()
            completion?(result)
        }

        private static func run(_ state: Monitor<State>, _ session: NATSSession) {
            while true {
                let (jobs, broadcasts) = state.wait(
                    while: { !$0.isStopped && $0.broadcasts.isEmpty && !$0.canSend }
                ) { $0.take() }
                guard !jobs.isEmpty || !broadcasts.isEmpty else { return }
                for broadcast in broadcasts {
                    session.publish(broadcast.subject, broadcast.bytes)
                }
                for job in jobs { send(job, state, session) }
            }
        }

        private static func send(_ job: Job, _ state: Monitor<State>, _ session: NATSSession) {
            var message: OpaquePointer?
            let status = job.bytes.withUnsafeBytes { bytes in
                natsMsg_Create(
                    &message, job.subject, nil,
                    bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
            }
            guard status == NATS_OK, let created = message else {
                state.withLock { state in
                    state.length -= job.bytes.count
                    state.sendingCount -= 1
                }
                return job.completion(.failure(.refused("no memory for a message")))
            }
            let address = UInt(bitPattern: created)
            // Before it is sent, because the acknowledgment may arrive before the call returns.
            state.withLock { $0.sent[address] = (job.bytes.count, job.completion) }
            do throws(HubLogError) {
                try session.request("append a message") { context, _ in
                    var options = jsPubOptions()
                    jsPubOptions_Init(&options)
                    options.MaxWait = session.requestMilliseconds
                    // Never an expected header: a wrong one can stop a replicated stream for ever.
                    guard let id = job.id else {
                        return js_PublishMsgAsync(context, &message, &options)
                    }
                    return id.withCString { id in
                        options.MsgId = id
                        return js_PublishMsgAsync(context, &message, &options)
                    }
                }
            } catch {
                complete(state, address, .failure(error))
                natsMsg_Destroy(message)
            }
        }
    }

    extension HubLogError {
        /// The error of calls after `stop`.
        static let stopped = HubLogError.disconnected("the hub log was stopped")
    }
#endif
