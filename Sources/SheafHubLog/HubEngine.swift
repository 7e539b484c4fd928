package import SheafSync

/// The engine in which the hubs of a database keep their log.
///
/// The products `SheafHubNATS` and `SheafHubPostgreSQL` create one each.
public struct HubEngine: Sendable {
    private let make:
        @Sendable (Hello.DatabaseID, @escaping @Sendable (String) -> Void) -> any HubLog

    /// Creates an engine; `make` returns a hub log of a database that is not started.
    ///
    /// The hub log may report what its user should know, as sentences.
    package init(
        _ make:
            @escaping @Sendable (
                Hello.DatabaseID, @escaping @Sendable (String) -> Void
            ) -> any HubLog
    ) {
        self.make = make
    }

    /// Returns the hub log of a database, which is not started.
    package func log(
        of database: Hello.DatabaseID, report: @escaping @Sendable (String) -> Void
    ) -> any HubLog {
        make(database, report)
    }
}
