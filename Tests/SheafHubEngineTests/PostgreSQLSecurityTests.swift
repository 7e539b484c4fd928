import SheafHubLog
import SheafHubPostgreSQL
import SheafTestSupport
import Testing

extension PostgreSQLTests {
    /// Hub logs over a server with certificates and passwords.
    @Suite(
        .timeLimit(.minutes(5)),
        .enabled(
            if: PostgreSQLCluster.programs != nil,
            "needs the package trait PostgreSQL, and SHEAF_POSTGRESQL_BIN or Debian's postgresql-15"
        ))
    struct PostgreSQLSecurityTests {
        @Test func `server and hubs prove their identity with certificates and passwords`() throws {
            let port = Loopback.freePorts(1)[0]
            let options = [
                "listen_addresses=127.0.0.1", "ssl=on", "ssl_cert_file=../server.pem",
                "ssl_key_file=../server.key", "ssl_ca_file=../authority.pem",
            ]
            let cluster = try PostgreSQLCluster(
                port: port, options: options.map { "-c \($0)" }.joined(separator: " ")
            ) { cluster in
                let files = try TestCertificates(in: cluster.directory)
                for name in ["server", "authority"] {
                    PostgreSQLCluster.own(files.certificate(name))
                }
                PostgreSQLCluster.own(files.key("server"))
                cluster.setFile(
                    "pg_hba.conf",
                    """
                    local all all trust
                    hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-full

                    """)
            }
            try cluster.execute("ALTER ROLE hub PASSWORD 'right one'")
            var right = [
                "host": "127.0.0.1", "port": "\(port)", "dbname": "postgres", "user": "hub",
                "password": "'right one'", "sslmode": "verify-full",
                "sslrootcert": cluster.directory + "/authority.pem",
                "sslcert": cluster.directory + "/hub.pem", "sslkey": cluster.directory + "/hub.key",
            ]
            let engine = TestedEngine { [right] unreadLength in
                cluster.log(7, unreadLength: unreadLength, connection: Self.connection(right))
            }
            for check in [HubLogCheck.order, .objects, .replace, .broadcast] {
                try check.run(engine)
            }
            for (parameter, value, reason) in [
                ("password", "secret", "password authentication failed"),
                ("sslrootcert", cluster.directory + "/other.pem", "certificate verify failed"),
                ("sslcert", cluster.directory + "/none.pem", "certificate"),
                ("sslmode", "disable", "no encryption"),
                ("host", "localhost", "does not match host name"),
            ] {
                let known = right[parameter]
                right[parameter] = value
                let log = cluster.log(7, connection: Self.connection(right))
                let error = #expect(throws: HubLogError.self) { try log.start(RecordingHost()) }
                let text = error?.description ?? ""
                #expect(text.contains(reason))
                #expect(!text.contains("secret") && !text.contains("right one"))
                log.stop()
                right[parameter] = known
            }
        }

        private static func connection(_ parameters: [String: String]) -> String {
            parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                .joined(separator: " ")
        }
    }
}
