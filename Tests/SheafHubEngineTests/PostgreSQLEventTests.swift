import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import Testing

/// Tests of the servers, warnings and failures that a hub log in PostgreSQL reports.
@Suite struct PostgreSQLEventTests {
    private func server(
        _ identifier: String = "7", timeline: UInt32 = 3, version: Int = 150_018,
        warnings: [PostgreSQLWarning] = []
    ) -> PostgreSQLServer {
        PostgreSQLServer(
            systemIdentifier: identifier, timeline: timeline, version: version, warnings: warnings)
    }

    @Test func `servers of one cluster and timeline have the same history`() {
        #expect(server().hasHistory(of: server(version: 160_000, warnings: [.noSync])))
        #expect(!server().hasHistory(of: server("8")))
        #expect(!server().hasHistory(of: server(timeline: 2)))
        #expect(!server().hasHistory(of: server(timeline: 4)))
    }

    @Test func `a server of an earlier timeline of its cluster is a former primary`() {
        #expect(server().precedes(server(timeline: 4)))
        #expect(!server().precedes(server()))
        #expect(!server().precedes(server(timeline: 2)))
        #expect(!server().precedes(server("8", timeline: 4)))
    }

    @Test func `each warning of a server is reported in a sentence`() {
        let warnings: [PostgreSQLWarning] = [
            .noStandby, .noSync, .noFullPages, .weakCommit("local"),
        ]
        #expect(PostgreSQLEvent.connected(server()).sentences == [])
        let sentences = PostgreSQLEvent.connected(server(warnings: warnings)).sentences
        let expected: [String] = [
            """
            PostgreSQL: synchronous_standby_names is empty, so acknowledged messages are on one \
            server only; with two standbys, set it to 'ANY 1 (*)'
            """,
            "PostgreSQL: fsync is off, so a power failure loses messages; set it to on",
            """
            PostgreSQL: full_page_writes is off, so a power failure can damage tables; set it to on
            """,
            """
            PostgreSQL: synchronous_commit is local by default; hub logs use on; set it to on for \
            all others
            """,
        ]
        #expect(sentences == expected)
    }

    @Test func `a change of the server, lost entries and failures are reported`() {
        let changed = PostgreSQLEvent.changed(from: server(timeline: 3), to: server(timeline: 5))
        #expect(
            changed.sentences == [
                """
                PostgreSQL: connected to another server (timeline 5, formerly 3); messages that \
                the former one acknowledged may be missing
                """
            ])
        let shard = HubShard(7, of: HubLogID(low: 1, high: 2))
        #expect(
            PostgreSQLEvent.truncated(shard: shard, last: 40, read: 42).sentences == [
                """
                PostgreSQL: shard 7 ends with entry 40, and entry 42 was read before; the server \
                has lost messages
                """
            ])
        #expect(PostgreSQLEvent.retrying("cut").sentences == ["PostgreSQL: cut"])
    }

    @Test(
        arguments: [
            ("23505", .repetition), ("23503", .refused), ("42P01", .noTables),
            ("42P02", .refused), ("3F000", .noTables), ("3F001", .refused), ("57014", .timeout),
            ("57P01", .connection), ("08006", .connection), ("25006", .connection),
            ("25001", .refused), ("55P03", .conflict), ("55006", .conflict), ("55000", .refused),
            ("40001", .conflict), ("53100", .resources), ("58030", .resources), ("", .refused),
        ] as [(String, PQFailure.Kind)])
    func `the state of an error is the action that it requires`(
        _ state: String, _ kind: PQFailure.Kind
    ) {
        #expect(PQFailure.Kind(state: state) == kind)
    }

    @Test func `a failure has the request that needs it`() {
        let errors: [(PQFailure.Kind, HubLogError)] = [
            (.connection, .disconnected("text")), (.timeout, .timeout("a message: text")),
            (.conflict, .timeout("a message: text")), (.resources, .full("text")),
            (.repetition, .refused("a message: text")), (.noTables, .refused("a message: text")),
            (.refused, .refused("a message: text")),
        ]
        for (kind, error) in errors {
            let failure = PQFailure(kind, "text")
            #expect(failure.kind == kind && failure.message == "text")
            #expect(failure.error(of: "a message") == error)
        }
    }
}
