import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import SheafSystem
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A temporary cluster of PostgreSQL, which accepts connections at Unix sockets.
///
/// A shell stops its servers and removes the directory when its input ends: with the last
/// reference, or with this process.
final class PostgreSQLCluster: Sendable {
    struct Failed: Error { let lines: [String] }

    /// The directory of the programs of the server; nil if there are none, or no library.
    static let programs: String? = {
        #if PostgreSQL
            let chosen = getenv("SHEAF_POSTGRESQL_BIN").map { String(cString: $0) }
            let directory = chosen ?? "/usr/lib/postgresql/15/bin"
            return access(directory + "/initdb", X_OK) == 0 ? directory : nil
        #else
            return nil
        #endif
    }()

    /// One of the two servers.
    enum Server: String {
        case primary, standby
    }

    private static let user = "postgres"

    let directory: String
    private let options: String
    /// The port of the primary, before that of the standby.
    private let port: UInt16
    private let programs: String
    private let guardian: ChildProcess

    /// Creates a cluster and starts its primary.
    ///
    /// - Parameters:
    ///   - port: The port of the primary, which names its Unix socket.
    ///   - options: Further options of the servers.
    ///   - prepare: Changes the files of the primary before it is started.
    init(
        port: UInt16 = 5432, options: String = "",
        _ prepare: (PostgreSQLCluster) throws -> Void = { _ in }
    ) throws {
        (self.port, self.options) = (port, options)
        guard let programs = Self.programs else { throw Failed(lines: ["no initdb"]) }
        self.programs = programs
        var template = Array("/tmp/sheaf-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failed(lines: ["no directory"]) }
        directory = String(decoding: template.dropLast().map { UInt8($0) }, as: UTF8.self)
        Self.own(directory)
        let words = Self.asUser([
            "sh", "-c",
            #"read -r _; for server in primary standby; do "#
                + #""$1/pg_ctl" -D "$2/$server" -m immediate stop 2> /dev/null; done; rm -rf "$2""#,
            "sh", programs, directory,
        ])
        guardian = try ChildProcess(words[0], Array(words.dropFirst()), hasInput: true)
        try run(
            "initdb", "-D", path(.primary), "-A", "trust", "-U", "hub", "-E", "UTF8",
            "--locale=C", "--no-sync")
        try prepare(self)
        try start()
    }

    /// The connection string of the servers.
    var connection: String {
        "host=\(directory),\(directory) port=\(port),\(port + 1) dbname=postgres user=hub"
    }

    /// The directory of the data of a server.
    func path(_ server: Server) -> String { "\(directory)/\(server.rawValue)" }

    /// Starts a server, and returns once it accepts connections.
    func start(_ server: Server = .primary) throws {
        let port = server == .primary ? port : port + 1
        try run(
            "pg_ctl", "-D", path(server), "-l", path(server) + ".log", "-w", "-o",
            "-k \(directory) -p \(port) -c listen_addresses='' -c max_wal_size=256MB "
                + options, "start")
    }

    /// Stops a server as a crash does.
    func crash(_ server: Server = .primary) throws {
        try run("pg_ctl", "-D", path(server), "-m", "immediate", "stop")
    }

    /// Restarts the primary as a standby, and makes it the primary of another timeline.
    func failOver() throws {
        try run("pg_ctl", "-D", path(.primary), "-m", "fast", "stop")
        let words = Self.asUser(["touch", path(.primary) + "/standby.signal"])
        _ = try ChildProcess.run(words[0], Array(words.dropFirst()))
        try start()
        try promote(.primary)
    }

    /// Creates a standby, for which the commits of the primary wait from then on.
    func addStandby() throws {
        try run(
            "pg_basebackup", "-h", directory, "-p", "\(port)", "-U", "hub", "-D", path(.standby),
            "-R", "-X", "stream", "-c", "fast", "--no-sync")
        try start(.standby)
        try execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try execute("SELECT pg_reload_conf()")
    }

    /// Makes a standby the primary.
    func promote(_ server: Server) throws {
        try run("pg_ctl", "-D", path(server), "-w", "promote")
    }

    /// Runs a statement on the primary, and returns its rows.
    @discardableResult
    func execute(_ statement: String) throws -> [String] {
        try run(
            "psql", "-h", directory, "-p", "\(port)", "-U", "hub", "-d", "postgres", "-Atc",
            statement)
    }

    /// Writes a file of the primary.
    func setFile(_ name: String, _ text: String) {
        let descriptor = open(path(.primary) + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = write(descriptor, text, text.utf8.count)
        close(descriptor)
    }

    /// Gives a file to the user of the servers.
    static func own(_ file: String) {
        guard geteuid() == 0, let entry = getpwnam(user) else { return }
        _ = chown(file, entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    @discardableResult
    private func run(_ program: String, _ arguments: String...) throws -> [String] {
        let words = Self.asUser([programs + "/" + program] + arguments)
        let (code, lines) = try ChildProcess.run(words[0], Array(words.dropFirst()))
        guard code == 0 else { throw Failed(lines: [program] + lines) }
        return lines
    }

    /// Returns a command that runs as a user with few rights: the server refuses root.
    private static func asUser(_ command: [String]) -> [String] {
        geteuid() == 0 ? ["runuser", "-u", user, "--"] + command : command
    }
}

/// The events of a hub log in PostgreSQL.
final class PostgreSQLEvents: Sendable {
    private let events = Monitor<[PostgreSQLEvent]>([])

    func record(_ event: PostgreSQLEvent) {
        events.withLock { $0.append(event) }
        events.broadcast()
    }

    /// Whether an event was recorded.
    func contain(_ isExpected: (PostgreSQLEvent) -> Bool) -> Bool {
        events.withLock { $0.contains(where: isExpected) }
    }

    /// Waits for an event; returns whether it was recorded within a minute.
    func waits(for isExpected: (PostgreSQLEvent) -> Bool) -> Bool {
        let deadline = Clock.system.monotonicNanoseconds() + 60_000_000_000
        return events.wait(until: deadline, while: { !$0.contains(where: isExpected) })
    }
}

extension PostgreSQLCluster {
    /// Returns a hub log of a database, which is not started.
    func log(
        _ database: UInt64, unreadLength: Int = HubLimits.unreadLength,
        _ events: PostgreSQLEvents = PostgreSQLEvents(), parameters: String = "",
        connection: String? = nil
    ) -> PostgreSQLHubLog {
        PostgreSQLHubLog(
            PostgreSQLConfiguration(
                connection: (connection ?? self.connection) + parameters,
                database: .init(low: database, high: 1),
                unreadLength: unreadLength
            ) { event in events.record(event) })
    }

    /// The engine of a database, for the rules of all engines.
    func engine(database: UInt64, _ events: PostgreSQLEvents = PostgreSQLEvents()) -> TestedEngine {
        TestedEngine { unreadLength in self.log(database, unreadLength: unreadLength, events) }
    }
}
