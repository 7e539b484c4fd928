#if NATS
    import SheafBytes
    import SheafHubLog
    import SheafHubNATS
    import Testing

    extension NATSTests {
        /// Tests over three brokers; they need the program that `SHEAF_NATS_SERVER` names.
        @Suite(
            .enabled(
                if: NATSCluster.program != nil,
                "SHEAF_NATS_SERVER must be the path of a nats-server, version 2.12 or later"))
        struct NATSHubLogTests {
            @Test func `a log over NATS satisfies each rule`() throws {
                let cluster = try NATSCluster()
                for (number, check) in HubLogCheck.allCases.enumerated() {
                    do {
                        try check.run(cluster.engine(database: UInt64(10 + number)))
                    } catch {
                        Issue.record(error, "\(check.rawValue)")
                    }
                }
            }

            @Test func `nothing acknowledged is lost when brokers are killed during appends`()
                throws
            {
                let cluster = try NATSCluster()
                let (hub, log) = try cluster.engine(database: 2).startWithLog()
                let others = try (0..<2).map { _ in try cluster.engine(database: 2).start() }
                defer { for hub in [hub] + others { hub.stop() } }
                let shard = HubShard(0, of: log)
                for hub in [hub] + others { hub.log.follow(shard, from: 1) }
                var appended = 0
                for _ in 1...3 {
                    hub.append((appended + 1)...(appended + 500), to: log)
                    hub.storeUntilAcknowledged(log, count: appended + 500)
                    let leader = try #require(try cluster.leader(database: 2))
                    hub.append((appended + 501)...(appended + 1_500), to: log)
                    appended += 1_500
                    cluster.kill(leader)
                    hub.storeUntilAcknowledged(log, count: appended)
                    try cluster.start(leader)
                    #expect(try cluster.waitsUntilCurrent(database: 2))
                }
                let stored = hub.host.current.stored
                #expect(Set(stored.map(\.id)).count == appended)
                let last = try #require(stored.map(\.entry).max())
                for hub in [hub] + others {
                    #expect(hub.host.waits { ($0.numbers(of: shard).last ?? 0) >= last })
                    let entries = try #require(hub.host.current.entries[shard])
                    #expect(entries.map(\.number) == (1...UInt64(entries.count)).map { $0 })
                    for (id, entry) in stored {
                        let bytes = entries[Int(entry) - 1].bytes
                        #expect(bytes == TestedEngine.message(Int(id.sequence)))
                    }
                }
            }

            @Test func `replacements are counted correctly while brokers are killed`() throws {
                let cluster = try NATSCluster()
                let hub = try cluster.engine(database: 3).start()
                defer { hub.stop() }
                let counting = try CountingThread(hub.log)
                for broker in 0..<3 {
                    #expect(counting.waits(forReplaced: 50 * (broker + 1)))
                    cluster.kill(broker)
                    #expect(counting.waits(forReplaced: 50 * (broker + 1) + 25))
                    try cluster.start(broker)
                    #expect(try cluster.waitsUntilCurrent(database: 3, .bucket))
                }
                let counts = counting.stop()
                let value = try CountingThread.value(hub.log)
                #expect(counts.replaced <= value)
                #expect(value <= counts.replaced + counts.ambiguous)
                #expect(counts.changed <= counts.ambiguous)
            }

            @Test func `a lost connection is reported, and what it prevents`() throws {
                let cluster = try NATSCluster(count: 1)
                let (hub, log) = try cluster.engine(database: 4).startWithLog()
                defer { hub.stop() }
                let shard = HubShard(0, of: log)
                hub.log.follow(shard, from: 1)
                hub.store(1...3, to: log)
                #expect(hub.host.waits { $0.numbers(of: shard) == [1, 2, 3] })
                cluster.kill(0)
                #expect(hub.host.waits { $0.connections == [true, false] })
                hub.log.reread(1...2, of: shard)
                #expect(hub.host.waits { $0.rereads.first?.error != nil })
                #expect(throws: HubLogError.self) {
                    try hub.log.replace("config", with: [1], at: nil)
                }
                try cluster.start(0)
                #expect(hub.host.waits { $0.connections == [true, false, true] })
                hub.append(4...4, to: log)
                hub.storeUntilAcknowledged(log, count: 4)
                #expect(hub.host.waits { $0.numbers(of: shard) == [1, 2, 3, 4] })
                hub.log.reread(1...2, of: shard)
                #expect(hub.host.waits { $0.rereads.count == 2 })
                #expect(hub.host.current.rereads.last?.error == nil)
            }

            @Test func `streams that can lose messages are refused`() throws {
                let cluster = try NATSCluster(count: 1)
                let hub = try cluster.engine(database: 5).start()
                defer { hub.stop() }
                let zeros = String(repeating: "0", count: 15)
                for (number, (setting, fault)) in [
                    ("\"storage\":\"memory\"", "its storage must be file"),
                    ("\"discard\":\"old\"", "its discard policy must be new"),
                    ("\"max_age\":3600000000000", "it must have no maximum age"),
                    ("\"retention\":\"interest\"", "its retention policy must be limits"),
                    ("\"max_msgs_per_subject\":1", "no limit of messages per subject"),
                ].enumerated() {
                    let log = HubLogID(low: UInt64(number), high: 5)
                    let digits = ["\(zeros)0\(zeros)5", "\(zeros)5\(zeros)\(number)"]
                    let name = "SHEAF-\(digits[0])-\(digits[1])-0"
                    let response = try cluster.request(
                        "$JS.API.STREAM.CREATE.\(name)",
                        "{\"name\":\"\(name)\",\"subjects\":[\"sheaf.\(digits[0]).\(digits[1]).0\"],"
                            + "\"retention\":\"limits\",\"storage\":\"file\",\"discard\":\"new\","
                            + "\"num_replicas\":1,\(setting)}")
                    try #require(!response.contains("\"error\""), "\(response)")
                    for action in [hub.log.create(_:shardCount:), hub.log.check(_:shardCount:)] {
                        let error = #expect(throws: HubLogError.self) { try action(log, 1) }
                        #expect(error?.description.contains("\(name) can lose messages") == true)
                        #expect(error?.description.contains(fault) == true)
                    }
                }
            }

            @Test func `objects are stored again after their streams were removed`() throws {
                let cluster = try NATSCluster(count: 1)
                let (hub, _) = try cluster.engine(database: 6).startWithLog()
                defer { hub.stop() }
                for _ in 1...2 {
                    try hub.log.put("part/1", [1])
                    #expect(try hub.log.replace("config", with: [2], at: nil) == .replaced)
                    #expect(try hub.log.list("part/") == ["part/1"])
                    #expect(try hub.log.load("config")?.bytes == [2])
                    let names = try cluster.request("$JS.API.STREAM.NAMES", "")
                    let streams = names.matches(of: /"([A-Z_]*SHEAF-[^"]*)"/).map(\.1)
                    #expect(streams.count >= 2)
                    for stream in streams {
                        let response = try cluster.request("$JS.API.STREAM.DELETE.\(stream)", "")
                        try #require(!response.contains("\"error\""), "\(response)")
                    }
                    #expect(try hub.log.load("config") == nil)
                }
            }

            @Test func `a log on fewer brokers than a hub requires is refused`() throws {
                let cluster = try NATSCluster(count: 1)
                var three = cluster.configuration(database: 6)
                three.replicas = 3
                let alone = NATSHubLog(three)
                try alone.start(RecordingHost())
                defer { alone.stop() }
                let refusal = #expect(throws: HubLogError.self) {
                    try alone.create(HubLogID(low: 1, high: 6), shardCount: 1)
                }
                #expect(
                    refusal?.description.contains("a broker without a cluster has one replica")
                        == true)
                let (hub, log) = try cluster.engine(database: 5).startWithLog()
                defer { hub.stop() }
                try hub.log.check(log, shardCount: 1)
                var configuration = cluster.configuration(database: 5)
                configuration.replicas = 3
                let other = NATSHubLog(configuration)
                try other.start(RecordingHost())
                defer { other.stop() }
                let error = #expect(throws: HubLogError.self) {
                    try other.check(log, shardCount: 1)
                }
                #expect(
                    error?.description.contains("it has 1 replicas, and this hub requires 3")
                        == true)
            }

            @Test(arguments: ["", "hub:secret@", "secret@", "hub:secret/secret@", "hub:x@secret@"])
            func `a log without brokers names them, without their passwords`(
                _ user: String
            ) throws {
                let log = NATSHubLog(
                    NATSConfiguration(
                        servers: ["nats://\(user)127.0.0.1:1"], database: .init(low: 1, high: 1))
                )
                let error = #expect(throws: HubLogError.self) { try log.start(RecordingHost()) }
                #expect(error?.description.contains("nats://127.0.0.1:1") == true)
                #expect(error?.description.contains("secret") == false)
                log.stop()
                #expect(throws: HubLogError.self) { try log.put("part/1", []) }
            }
        }
    }

    extension TestedEngine.Member {
        /// Waits until as many messages are acknowledged, and appends those that failed again.
        fileprivate func storeUntilAcknowledged(_ log: HubLogID, count: Int) {
            var handled = 0
            for _ in 1...600 {
                #expect(host.waits { $0.stored.count + $0.failed.count >= count })
                let state = host.current
                let stored = Set(state.stored.map(\.id))
                if stored.count >= count { return }
                let failed = state.failed.dropFirst(handled).map(\.id)
                handled = state.failed.count
                for id in failed where !stored.contains(id) {
                    self.log.append(TestedEngine.message(Int(id.sequence)), to: log, as: id)
                }
                host.pause()
            }
            let state = host.current
            let error = state.failed.last.map { "\($0.error)" } ?? "none failed"
            Issue.record(
                """
                \(Set(state.stored.map(\.id)).count) of \(count) messages are acknowledged in three \
                minutes; the last of \(state.failed.count) errors: \(error)
                """)
        }
    }
#endif
