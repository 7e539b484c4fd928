import SheafHubLog
import SheafHubPostgreSQL
import Testing

extension PostgreSQLTests {
    /// Hub logs while their server crashes, returns, or has another history.
    @Suite(
        .timeLimit(.minutes(5)),
        .enabled(
            if: PostgreSQLCluster.programs != nil,
            "needs the package trait PostgreSQL, and SHEAF_POSTGRESQL_BIN or Debian's postgresql-15"
        ))
    struct PostgreSQLRestartTests {
        @Test func `crashes during appends lose and repeat nothing`() throws {
            let cluster = try PostgreSQLCluster()
            let (first, log) = try cluster.engine(database: 1).startWithLog(shardCount: 2)
            let hubs = [first, try cluster.engine(database: 1).start()]
            defer { for hub in hubs { hub.stop() } }
            let shards = [HubShard(0, of: log), HubShard(1, of: log)]
            for hub in hubs { for shard in shards { hub.log.follow(shard, from: 1) } }
            let perRound = 1_000
            for round in 0..<3 {
                for (number, hub) in hubs.enumerated() {
                    for shard in shards {
                        hub.append(
                            round * perRound + 1...(round + 1) * perRound, to: log,
                            author: UInt64(number + 1), shard: shard.number, length: 2_000)
                    }
                }
                #expect(first.host.waits { $0.stored.count >= 2 * round * perRound + 300 })
                try cluster.crash()
                try cluster.start()
            }
            let count = 3 * perRound
            for hub in hubs {
                #expect(hub.host.waits { $0.stored.count == 2 * count })
                #expect(hub.host.current.failed.isEmpty)
            }
            for shard in shards {
                for hub in hubs {
                    #expect(hub.host.waits { $0.numbers(of: shard).count >= 2 * count })
                }
                let entries = try #require(first.host.current.entries[shard])
                #expect(hubs[1].host.current.entries[shard] == entries)
                #expect(entries.map(\.number) == (1...UInt64(2 * count)).map { $0 })
                for (number, hub) in hubs.enumerated() {
                    let stored = hub.host.current.stored.filter { $0.id.shard == shard.number }
                    // They were acknowledged in order, so their numbers ascend as well.
                    #expect(stored.map(\.id.sequence) == (1...UInt64(count)).map { $0 })
                    #expect(zip(stored, stored.dropFirst()).allSatisfy { $0.entry < $1.entry })
                    for (id, entry) in stored {
                        let bytes = TestedEngine.message(
                            Int(id.sequence), author: UInt64(number + 1), length: 2_000)
                        #expect(entries[Int(entry) - 1].bytes == bytes)
                    }
                }
            }
        }

        @Test func `a server with another history is reported, and its lost entries`() throws {
            let cluster = try PostgreSQLCluster()
            let events = PostgreSQLEvents()
            let (hub, log) = try cluster.engine(database: 1, events).startWithLog()
            defer { hub.stop() }
            let shard = HubShard(0, of: log)
            hub.log.follow(shard, from: 1)
            hub.store(1...10, to: log)
            #expect(hub.host.waits { $0.numbers(of: shard).count == 10 })
            // As if the last entries had not reached the standby.
            try cluster.execute(
                "DELETE FROM sheaf.message WHERE position > 8; UPDATE sheaf.shard SET last = 8")
            try cluster.failOver()
            #expect(events.waits { $0 == .truncated(shard: shard, last: 8, read: 10) })
            #expect(
                events.waits { event in
                    guard case .changed(let old, let new) = event else { return false }
                    return old.timeline == 1 && new.timeline == 2
                        && old.systemIdentifier == new.systemIdentifier
                })
            hub.store(11...13, to: log)
            #expect(hub.host.waits { $0.numbers(of: shard) == Array(1...11) })
            // The next connection finds another entry under the last number.
            try cluster.execute("UPDATE sheaf.message SET body = '\\x01' WHERE position = 11")
            try cluster.crash()
            try cluster.start()
            #expect(hub.host.waits { $0.numbers(of: shard) == Array(1...11) + [11] })
            #expect(hub.host.current.entries[shard]?.last?.bytes == [1])
        }

        @Test func `messages wait for the server, and calls that block do not`() throws {
            let cluster = try PostgreSQLCluster()
            let events = PostgreSQLEvents()
            let (hub, log) = try cluster.engine(database: 1, events).startWithLog()
            try cluster.crash()
            hub.append(1...10, to: log)
            #expect(throws: HubLogError.self) { try hub.log.load("config") }
            let late = cluster.log(1)
            #expect(throws: HubLogError.self) { try late.start(RecordingHost()) }
            late.stop()
            try cluster.start()
            #expect(hub.host.waits { $0.stored.map(\.entry) == Array(1...10) })
            try cluster.crash()
            hub.append(11...20, to: log)
            #expect(
                events.waits { event in
                    guard case .retrying = event else { return false }
                    return true
                })
            hub.stop()
            #expect(hub.host.current.eventsAfterStop == 0)
            #expect(hub.host.current.stored.count == 10)
        }

        @Test func `a statement that the stop of a log interrupts is not reported`() throws {
            let cluster = try PostgreSQLCluster()
            let events = PostgreSQLEvents()
            let (hub, _) = try cluster.engine(database: 1, events).startWithLog()
            try cluster.execute(
                """
                CREATE FUNCTION sheaf.hold() RETURNS trigger LANGUAGE plpgsql
                    AS 'BEGIN PERFORM pg_sleep(15); RETURN NEW; END';
                CREATE TRIGGER hold BEFORE INSERT ON sheaf.broadcast
                    FOR EACH ROW EXECUTE FUNCTION sheaf.hold()
                """)
            hub.log.broadcast([1])
            let held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            var isHeld = false
            for _ in 0..<1_000 where !isHeld { isHeld = try cluster.execute(held) == ["1"] }
            #expect(isHeld)
            hub.stop()
            #expect(hub.host.current.eventsAfterStop == 0)
            #expect(
                !events.contain { event in
                    guard case .retrying = event else { return false }
                    return true
                })
        }

        @Test func `replacements are counted correctly while the server crashes`() throws {
            let cluster = try PostgreSQLCluster()
            let hub = try cluster.engine(database: 1).start()
            defer { hub.stop() }
            let counting = try CountingThread(hub.log)
            for round in 1...3 {
                #expect(counting.waits(forReplaced: 100 * round))
                try cluster.crash()
                #expect(hub.host.waits { $0.connections.suffix(1) == [false] })
                try cluster.start()
                #expect(hub.host.waits { $0.connections.suffix(1) == [true] })
            }
            let counts = counting.stop()
            let value = try CountingThread.value(hub.log)
            #expect(counts.replaced <= value)
            #expect(value <= counts.replaced + counts.ambiguous)
            #expect(counts.changed <= counts.ambiguous)
            #expect(hub.host.current.connections == [true, false, true, false, true, false, true])
        }

        @Test func `a damaged counter does not repeat a number`() throws {
            let cluster = try PostgreSQLCluster()
            let events = PostgreSQLEvents()
            let (hub, log) = try cluster.engine(database: 1, events).startWithLog()
            defer { hub.stop() }
            hub.store(1...10, to: log)
            try cluster.execute("UPDATE sheaf.shard SET last = 5")
            hub.append(11...11, to: log)
            #expect(
                events.waits { event in
                    guard case .retrying(let reason) = event else { return false }
                    return reason.contains("23505")
                })
            try cluster.execute("UPDATE sheaf.shard SET last = 10")
            #expect(hub.host.waits { $0.stored.last?.entry == 11 })
        }
    }
}
