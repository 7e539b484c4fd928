import SheafHubLog
import SheafHubPostgreSQL
import SheafSystem
import Testing

extension PostgreSQLTests {
    /// Hub logs over a primary whose commits wait for a standby.
    @Suite(
        .timeLimit(.minutes(5)),
        .enabled(
            if: PostgreSQLCluster.programs != nil,
            "needs the package trait PostgreSQL, and SHEAF_POSTGRESQL_BIN or Debian's postgresql-15"
        ))
    struct PostgreSQLStandbyTests {
        @Test func `the standby has all that was acknowledged before the primary ended`() throws {
            let cluster = try PostgreSQLCluster()
            try cluster.addStandby()
            let events = PostgreSQLEvents()
            let (hub, log) = try cluster.engine(database: 1, events).startWithLog()
            let other = try cluster.engine(database: 1).start()
            defer { for hub in [hub, other] { hub.stop() } }
            let shard = HubShard(0, of: log)
            hub.log.follow(shard, from: 1)
            let count = 3_000
            hub.append(1...count, to: log, length: 2_000)
            #expect(hub.host.waits { $0.stored.count >= 500 })
            try cluster.crash(.primary)
            let acknowledged = hub.host.current.stored.count
            #expect(acknowledged < count)
            try cluster.promote(.standby)
            #expect(hub.host.waits { $0.stored.count == count })
            #expect(hub.host.current.failed.isEmpty)
            #expect(
                events.waits { event in
                    guard case .changed(let old, let new) = event else { return false }
                    return old.timeline == 1 && new.timeline == 2
                })
            other.log.follow(shard, from: 1)
            for hub in [hub, other] {
                #expect(hub.host.waits { $0.numbers(of: shard).count == count })
                let entries = try #require(hub.host.current.entries[shard])
                #expect(entries.map(\.number) == (1...UInt64(count)).map { $0 })
            }
            let entries = try #require(other.host.current.entries[shard])
            for (id, entry) in hub.host.current.stored {
                let bytes = TestedEngine.message(Int(id.sequence), length: 2_000)
                #expect(entries[Int(entry) - 1].bytes == bytes)
            }
            #expect(
                !events.contain { event in
                    if case .truncated = event { true } else { false }
                })
            #expect(hub.host.waits { $0.connections.suffix(2) == [false, true] })
        }

        @Test func `without the standby nothing is acknowledged, and a replacement is ambiguous`()
            throws
        {
            let cluster = try PostgreSQLCluster()
            let (hub, log) = try cluster.engine(database: 1).startWithLog()
            defer { hub.stop() }
            try cluster.addStandby()
            #expect(try hub.log.replace("config", with: [1], at: nil) == .replaced)
            try cluster.crash(.standby)
            hub.append(1...10, to: log)
            let revision = try #require(try hub.log.load("config")).revision
            let outcome = Monitor<Result<HubLogReplacement, HubLogError>?>(nil)
            let thread = try Thread(name: "replacing") {
                let result = Result { () throws(HubLogError) in
                    try hub.log.replace("config", with: [2], at: revision)
                }
                outcome.withLock { $0 = result }
            }
            // As an administrator does who does not know that commits must not be canceled.
            let canceled = """
                SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND query LIKE '%sheaf.register%'
                """
            let deadline = Clock.system.monotonicNanoseconds() + 30_000_000_000
            while try cluster.execute(canceled) != ["t"] {
                try #require(Clock.system.monotonicNanoseconds() < deadline)
            }
            thread.join()
            guard case .success(.ambiguous(let error)) = outcome.withLock({ $0 }) else {
                Issue.record("not ambiguous: \(outcome.withLock { $0 })")
                return
            }
            #expect(error.description.contains("standby"))
            #expect(try hub.log.load("config")?.bytes == [2])
            // The wait of the messages is canceled as well, and they wait again.
            try cluster.execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            hub.log.broadcast([1])
            #expect(hub.host.waits { $0.broadcasts == [[1]] })
            #expect(hub.host.current.stored.isEmpty)
            try cluster.start(.standby)
            #expect(hub.host.waits { $0.stored.map(\.entry) == Array(1...10) })
        }
    }
}
