public import SheafHubLog

extension HubEngine {
    /// Returns the engine PostgreSQL, 15 or later.
    ///
    ///     let engine = HubEngine.postgreSQL("postgresql://hub@db-1,db-2/hubs?sslmode=verify-full")
    ///
    /// Messages that are acknowledged are on one server only, unless `synchronous_standby_names`
    /// names standbys; the log of the store then has a warning. The role needs the right to create
    /// a schema at the first start. The product needs the package trait `PostgreSQL`; without it no
    /// hub can be opened.
    ///
    /// - Parameter connection: The servers, the database and the credentials, as libpq reads them.
    public static func postgreSQL(_ connection: String) -> HubEngine {
        HubEngine { database, report in
            PostgreSQLHubLog(
                PostgreSQLConfiguration(connection: connection, database: database) { event in
                    for sentence in event.sentences { report(sentence) }
                })
        }
    }
}

extension PostgreSQLEvent {
    /// The event in words, as far as the operator of a hub should know it.
    package var sentences: [String] {
        switch self {
        case .connected(let server): server.warnings.map { "PostgreSQL: \($0)" }
        case .changed(let old, let new):
            [
                "PostgreSQL: connected to another server (timeline \(new.timeline), formerly "
                    + "\(old.timeline)); messages that the former one acknowledged may be missing"
            ]
        case .truncated(let shard, let last, let read):
            [
                "PostgreSQL: shard \(shard.number) ends with entry \(last), and entry \(read) was "
                    + "read before; the server has lost messages"
            ]
        case .retrying(let reason): ["PostgreSQL: \(reason)"]
        }
    }
}
