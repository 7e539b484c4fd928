import SheafHubLog
package import SheafSync

/// The connection and the identity of a hub log in PostgreSQL.
package struct PostgreSQLConfiguration: Sendable {
    /// The servers and the credentials, as libpq reads them.
    ///
    /// For example `host=a,b dbname=hubs user=hub sslmode=verify-full`, or a URI that begins with
    /// `postgresql://`. Its parameters replace those of `defaults`.
    package let connection: String
    /// The database whose objects and broadcasts are stored.
    package let database: Hello.DatabaseID
    /// Maximum number of bytes of a shard that are delivered before the host has consumed them.
    package let unreadLength: Int
    /// Receives events; called on a thread of the log, and returns without waiting.
    package let report: @Sendable (PostgreSQLEvent) -> Void

    package init(
        connection: String, database: Hello.DatabaseID,
        unreadLength: Int = HubLimits.unreadLength,
        report: @escaping @Sendable (PostgreSQLEvent) -> Void = { _ in }
    ) {
        self.connection = connection
        self.database = database
        self.unreadLength = unreadLength
        self.report = report
    }

    /// Whether the connection is a URL with a password that is not encoded.
    ///
    /// The library would take a part of it for a host or port, which its errors have.
    package var hasUnencodedSecret: Bool {
        let schemes = ["postgresql://", "postgres://"]
        guard let scheme = schemes.first(where: { connection.hasPrefix($0) }) else { return false }
        let rest = connection.dropFirst(scheme.count).prefix { $0 != "?" }
        guard let at = rest.lastIndex(of: "@") else { return false }
        return rest[..<at].contains { $0 == "/" || $0 == "@" }
    }

    /// Parameters of libpq for connections that lack them.
    ///
    /// A lost server is noticed after 10 seconds, and one that is not writable is not used.
    package static let defaults: KeyValuePairs<String, String> = [
        "connect_timeout": "5", "tcp_user_timeout": "10000", "keepalives_idle": "5",
        "keepalives_interval": "2", "keepalives_count": "3",
        "target_session_attrs": "read-write", "application_name": "sheaf-hub",
    ]
}

/// Limits on hub logs in PostgreSQL; lengths are in bytes.
package enum PostgreSQLLimits {
    /// Maximum number of messages that are committed together.
    package static let batchMessages = 64
    /// Maximum length of messages that are committed together, except for a single one.
    package static let batchLength = 4 << 20
    /// Maximum number of commits that are not acknowledged; each is of another shard.
    package static let batchesInFlight = 4
    /// Maximum number of entries that a query reads.
    package static let readEntries = 1_024
    /// Maximum length of the entries that a query reads.
    package static let readLength = 4 << 20
    /// Length of the chunks of objects.
    package static let chunkLength = 256 << 10
    /// Maximum number of chunks of an object that a query reads.
    package static let readChunks = 8
    /// Maximum number of entries that a statement removes.
    package static let trimmedEntries = 10_000
    /// Maximum number of connections for objects that are kept open without being used.
    package static let idleConnections = 2
    /// Maximum number of broadcasts that a query reads.
    package static let readBroadcasts = 64
    /// Seconds after which a server that sends nothing is disconnected.
    package static let responseSeconds: UInt64 = 30
    /// Seconds after which the server ends a statement that waits, for example for a lock.
    package static let statementSeconds: UInt64 = 20
    /// Seconds after which followers query without having been notified.
    package static let querySeconds: UInt64 = 1
    /// Seconds between removals of old broadcasts, and the minimum age of these.
    package static let broadcastSeconds: UInt64 = 30
    /// The first and the longest pause before a connection is tried again, in milliseconds.
    package static let retryMilliseconds: ClosedRange<UInt64> = 50...2_000
}
