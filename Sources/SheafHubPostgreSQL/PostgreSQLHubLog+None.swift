#if !PostgreSQL
    import SheafHubLog

    /// The hub log of a build without libpq.
    package final class PostgreSQLHubLog: UnsupportedHubLog {
        package static let trait = "PostgreSQL"
        package let server: PostgreSQLServer? = nil

        package init(_ configuration: PostgreSQLConfiguration) {}
    }
#endif
