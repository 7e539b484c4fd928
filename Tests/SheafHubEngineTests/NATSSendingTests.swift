#if NATS
    import SheafBytes
    import SheafHubLog
    import SheafHubNATS
    import SheafSystem
    import SheafTestSupport
    import Testing

    /// The messages that a log sends to a broker; they need no server.
    @Suite struct NATSSendingTests {
        private static let log = HubLogID(low: 2, high: 1)

        private func configuration(_ broker: BrokerDouble) -> NATSConfiguration {
            NATSConfiguration(
                servers: ["nats://127.0.0.1:\(broker.port)"],
                database: .init(low: 1, high: 1), replicas: 1)
        }

        /// Calls `body` with a log that is connected to a broker.
        private func withLog(
            requestMilliseconds: Int64 = 5_000,
            _ body: (BrokerDouble, NATSHubLog, RecordingHost) throws -> Void
        ) throws {
            let broker = try BrokerDouble()
            var configuration = configuration(broker)
            configuration.requestMilliseconds = requestMilliseconds
            let log = NATSHubLog(configuration)
            let host = RecordingHost()
            defer {
                log.stop()
                host.stopped()
                broker.stop()
            }
            try log.start(host)
            try body(broker, log, host)
        }

        @Test func `messages are sent in order with their ids, and acknowledged one by one`() throws
        {
            try withLog { broker, log, host in
                for sequence in 1...50 {
                    log.append(
                        TestedEngine.message(sequence), to: Self.log,
                        as: TestedEngine.id(sequence))
                }
                #expect(host.waits { $0.stored.count == 50 })
                let stored = host.current.stored
                #expect(stored.map(\.id) == (1...50).map { TestedEngine.id($0) })
                #expect(stored.map(\.entry) == (1...50).map { UInt64($0) })
                let sent = broker.current.published
                #expect(sent.map(\.bytes) == (1...50).map { TestedEngine.message($0) })
                #expect(sent.allSatisfy { $0.header.contains("Nats-Msg-Id:") })
                #expect(Set(sent.map(\.subject)).count == 1)
            }
        }

        /// Appends messages of which 64 have exactly the maximum length together.
        @Test func `at most 32 MiB of messages are sent before the first is acknowledged`() throws {
            try withLog(requestMilliseconds: 60_000) { broker, log, host in
                broker.holdAnswers(true)
                for sequence in 1...65 {
                    log.append(
                        TestedEngine.message(sequence, length: 1 << 19), to: Self.log,
                        as: TestedEngine.id(sequence))
                }
                let areSent = broker.waits { $0.published.count >= 64 }
                #expect(areSent)
                // All messages that may be sent precede the second broadcast.
                for number in 1...2 as ClosedRange<UInt8> {
                    log.broadcast([number])
                    let isSent = broker.waits { state in
                        state.published.contains { $0.bytes == [number] }
                    }
                    #expect(isSent)
                }
                #expect(broker.current.published.count == 64 + 2)
                broker.holdAnswers(false)
                log.broadcast([3])
                #expect(host.waits { $0.stored.count == 65 })
            }
        }

        @Test func `a message that the broker refuses fails, and a later one is sent`() throws {
            try withLog { broker, log, host in
                broker.refuse()
                for sequence in 1...2 {
                    log.append(
                        TestedEngine.message(sequence), to: Self.log,
                        as: TestedEngine.id(sequence))
                    #expect(host.waits { $0.failed.count == sequence })
                }
                #expect(host.current.stored.isEmpty)
                #expect(broker.current.published.count == 2)
            }
        }

        @Test func `a broadcast is sent without an id, and a stopped log sends nothing`() throws {
            try withLog { broker, log, _ in
                log.broadcast([1, 2, 3])
                let isSent = broker.waits { $0.published.count == 1 }
                #expect(isSent)
                let message = broker.current.published.first
                #expect(message?.bytes == [1, 2, 3] && message?.header == "")
                log.stop()
                log.broadcast([4])
                log.append(TestedEngine.message(1), to: Self.log, as: TestedEngine.id(1))
                #expect(broker.current.published.count == 1)
            }
        }

        @Test func `a log that cannot be opened ends its threads and its subscription`() throws {
            let broker = try BrokerDouble()
            defer { broker.stop() }
            broker.becomeSilent()
            var configuration = configuration(broker)
            configuration.requestMilliseconds = 300
            let log = NATSHubLog(configuration)
            #expect(throws: HubLogError.self) { try log.start(RecordingHost()) }
            // The threads retain the connection.
            let isClosed = broker.waits { !$0.isConnected }
            #expect(isClosed)
            #expect(broker.current.subscriptionCount == 1)
            #expect(broker.current.endedCount == 1)
            log.stop()
        }

        @Test(arguments: [3, 4])
        func `up to three refused signatures are followed by another one`(refusals: Int) throws {
            let broker = try BrokerDouble(refusals: refusals)
            defer { broker.stop() }
            let directory = TemporaryDirectory()
            let file = directory.path("user.creds")
            // The example of a seed in the documentation of NATS; the token is not examined.
            let text = """
                -----BEGIN NATS USER JWT-----
                token
                ------END NATS USER JWT------
                -----BEGIN USER NKEY SEED-----
                SUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY
                ------END USER NKEY SEED------

                """
            NATSCluster.write(text, to: file)
            var configuration = configuration(broker)
            configuration.credentials = .file(file)
            let log = NATSHubLog(configuration)
            defer { log.stop() }
            let host = RecordingHost()
            if refusals == 3 {
                try log.start(host)
            } else {
                let error = #expect(throws: HubLogError.self) { try log.start(host) }
                #expect(error?.description.contains("Authorization Violation") == true)
            }
            #expect(broker.current.refusalCount == 0)
        }

        @Test func `a shard is followed before the next regular check of the thread`() throws {
            try withLog { broker, log, _ in
                let shard = HubShard(0, of: Self.log)
                // Under load the thread may not run soon enough in one of the attempts.
                let isPrompt = (0..<40).contains { _ in
                    // Meanwhile the thread finishes the work of the last attempt.
                    for _ in 0..<20 {
                        let count = broker.current.published.count
                        log.broadcast([1])
                        _ = broker.waits { $0.published.count > count }
                    }
                    let count = broker.current.subscriptionCount
                    let start = Clock.system.monotonicNanoseconds()
                    log.follow(shard, from: 1)
                    let isFollowed = broker.waits { $0.subscriptionCount > count }
                    let end = Clock.system.monotonicNanoseconds()
                    log.unfollow(shard)
                    // The thread checks for due work every 250 ms.
                    return isFollowed && end - start < 125_000_000
                }
                #expect(isPrompt)
            }
        }
    }
#endif
