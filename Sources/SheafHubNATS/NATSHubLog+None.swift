#if !NATS
    import SheafHubLog

    /// The hub log of a build without libnats.
    package final class NATSHubLog: UnsupportedHubLog {
        package static let trait = "NATS"

        package init(_ configuration: NATSConfiguration) {}
    }
#endif
