package import SheafHubLog

/// The state of a server when a connection to it was opened.
package struct PostgreSQLServer: Equatable, Sendable {
    /// The number that `initdb` drew; standbys have that of their primary.
    package let systemIdentifier: String
    /// The timeline of the server, increased when a standby becomes the primary.
    package let timeline: UInt32
    /// The version, for example 150018.
    package let version: Int
    /// Settings under which an acknowledged message can be lost.
    package let warnings: [PostgreSQLWarning]

    package init(
        systemIdentifier: String, timeline: UInt32, version: Int, warnings: [PostgreSQLWarning]
    ) {
        self.systemIdentifier = systemIdentifier
        self.timeline = timeline
        self.version = version
        self.warnings = warnings
    }

    /// Whether both have the same history, so that no acknowledged message can be absent.
    package func hasHistory(of other: PostgreSQLServer) -> Bool {
        systemIdentifier == other.systemIdentifier && timeline == other.timeline
    }

    /// Whether this is a former primary of the cluster of another server.
    package func precedes(_ other: PostgreSQLServer) -> Bool {
        systemIdentifier == other.systemIdentifier && timeline < other.timeline
    }
}

/// A setting of a server under which an acknowledged message can be lost.
package enum PostgreSQLWarning: Hashable, Sendable {
    /// `synchronous_standby_names` is empty: messages are lost with the disk of one server.
    case noStandby
    /// `fsync` is off: messages are lost in a power failure.
    case noSync
    /// `full_page_writes` is off: a power failure can damage the tables.
    case noFullPages
    /// `synchronous_commit` is off or weak by default; hub logs set it to `on` for themselves.
    case weakCommit(String)
}

extension PostgreSQLWarning: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noStandby:
            "synchronous_standby_names is empty, so acknowledged messages are on one server only; "
                + "with two standbys, set it to 'ANY 1 (*)'"
        case .noSync: "fsync is off, so a power failure loses messages; set it to on"
        case .noFullPages:
            "full_page_writes is off, so a power failure can damage tables; set it to on"
        case .weakCommit(let value):
            "synchronous_commit is \(value) by default; hub logs use on; set it to on for all others"
        }
    }
}

/// An event of the connections of a hub log in PostgreSQL.
package enum PostgreSQLEvent: Equatable, Sendable {
    /// The connection that reads entries was opened.
    case connected(PostgreSQLServer)
    /// A connection was opened to a server with another history.
    ///
    /// Messages that the earlier one acknowledged may be absent: the newest must be read again.
    case changed(from: PostgreSQLServer, to: PostgreSQLServer)
    /// The counter of a shard is below the number of an entry that was read: entries were lost.
    case truncated(shard: HubShard, last: UInt64, read: UInt64)
    /// A failure after which the log tries again.
    case retrying(String)
}
