import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import SheafTestSupport
import Testing

extension PostgreSQLTests {
    /// Tests over a server of PostgreSQL in a temporary directory.
    @Suite(
        .timeLimit(.minutes(5)),
        .enabled(
            if: PostgreSQLCluster.programs != nil,
            "needs the package trait PostgreSQL, and SHEAF_POSTGRESQL_BIN or Debian's postgresql-15"
        ))
    struct PostgreSQLHubLogTests {
        @Test func `a log over PostgreSQL satisfies each rule`() throws {
            let cluster = try PostgreSQLCluster()
            for (number, check) in HubLogCheck.allCases.enumerated() {
                do {
                    try check.run(cluster.engine(database: UInt64(10 + number)))
                } catch {
                    Issue.record(error, "\(check.rawValue)")
                }
            }
        }

        @Test func `a message is stored once by several hubs, and other bytes are refused`() throws
        {
            let cluster = try PostgreSQLCluster()
            let (first, log) = try cluster.engine(database: 1).startWithLog()
            let second = try cluster.engine(database: 1).start()
            defer { for hub in [first, second] { hub.stop() } }
            first.store(1...20, to: log)
            second.store(1...25, to: log)
            #expect(second.host.current.stored.map(\.entry) == Array(1...25))
            second.log.append([1, 2, 3], to: log, as: TestedEngine.id(7))
            second.store(26...26, to: log)
            #expect(second.host.waits { $0.failed.count == 1 })
            let failure = try #require(second.host.current.failed.first)
            #expect(failure.id == TestedEngine.id(7))
            #expect("\(failure.error)".contains("another message has the number 7"))
        }

        @Test func `long objects are read in pieces, and without one of them they are damaged`()
            throws
        {
            let cluster = try PostgreSQLCluster()
            let log = cluster.log(1)
            defer { log.stop() }
            let bytes = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            try log.put("part/1", bytes)
            var (read, pieces): ([UInt8], Int) = ([], 0)
            try log.get("part/1") { piece in
                read += piece
                pieces += 1
            }
            #expect(read == bytes)
            #expect(pieces == 20)
            try cluster.execute("DELETE FROM sheaf.chunk WHERE number = 7")
            #expect(throws: HubLogError.damaged("object part/1")) { try log.get("part/1") { _ in } }
        }

        @Test func `settings that can lose messages are reported`() throws {
            let cluster = try PostgreSQLCluster()
            let weak = " options='-c synchronous_commit=off'"
            for (parameters, warnings) in [
                ("", [PostgreSQLWarning.noStandby]), (weak, [.weakCommit("off"), .noStandby]),
            ] {
                let log = cluster.log(1, parameters: parameters)
                #expect(log.server == nil)
                #expect(try log.load("config") == nil)
                #expect(log.server?.warnings == warnings)
                #expect(log.server?.timeline == 1)
                log.stop()
            }
        }

        @Test func `tables of another version are refused`() throws {
            let cluster = try PostgreSQLCluster()
            let first = cluster.log(1)
            try first.put("part/1", [1])
            first.stop()
            try cluster.execute("UPDATE sheaf.version SET version = 2")
            let second = cluster.log(1)
            defer { second.stop() }
            let error = #expect(throws: HubLogError.self) { try second.start(RecordingHost()) }
            #expect(
                error?.description.contains("version 2, and this program uses version 1") == true)
        }

        @Test func `the tables of the specification satisfy the rules`() throws {
            let text = try ProjectFile.text("format-spec/hub.md")
            let start = try #require(text.firstRange(of: "```sql\n")).upperBound
            let end = try #require(text[start...].firstRange(of: "-- append:")).lowerBound
            let cluster = try PostgreSQLCluster()
            try cluster.execute(String(text[start..<end]))
            for check in [HubLogCheck.order, .times, .objects, .replace, .broadcast] {
                try check.run(cluster.engine(database: 1))
            }
        }

        @Test func `a malformed connection string is refused without its password`() throws {
            for string in [
                "host=a password='secret", "postgresql://hub:secret%zz@a/b", "secret",
                "postgresql://hub:secret/x@a/b", "postgresql://hub:x@secret@a/b",
            ] {
                let log = PostgreSQLHubLog(
                    PostgreSQLConfiguration(connection: string, database: .init(low: 1, high: 1)))
                let error = #expect(throws: HubLogError.self) { try log.start(RecordingHost()) }
                #expect(error?.description.contains("postgresql://hub@a,b/hubs") == true)
                #expect(error?.description.contains("secret") == false)
                log.stop()
            }
        }

        @Test func `a stopped log retains neither its host nor itself`() throws {
            let cluster = try PostgreSQLCluster()
            weak var log: PostgreSQLHubLog?
            weak var host: RecordingHost?
            do {
                let started = cluster.log(1)
                let recording = RecordingHost()
                (log, host) = (started, recording)
                try started.start(recording)
                started.broadcast([1])
                #expect(recording.waits { $0.broadcasts == [[1]] })
                started.stop()
            }
            #expect(log == nil)
            #expect(host == nil)
        }
    }
}

/// The hub log of a build without libpq.
struct PostgreSQLTraitTests {
    @Test func `a log without its library names the trait`() {
        #if !PostgreSQL
            let log = PostgreSQLHubLog(
                PostgreSQLConfiguration(connection: "host=a", database: .init(low: 1, high: 1)))
            #expect(throws: HubLogError.unsupported(trait: "PostgreSQL")) {
                try log.start(RecordingHost())
            }
            log.stop()
        #endif
    }
}
