public import SheafHubLog

extension HubEngine {
    /// Returns the engine NATS JetStream, 2.12 or later, on a cluster of brokers.
    ///
    ///     let engine = HubEngine.nats(["nats://10.0.0.1:4222", "nats://10.0.0.2:4222"])
    ///
    /// The brokers need `sync_interval: always`: otherwise they acknowledge messages that a power
    /// failure loses. Their users have all rights to all documents of the database. The product
    /// needs the package trait `NATS`; without it no hub can be opened.
    ///
    /// - Parameters:
    ///   - servers: URLs of brokers; the others of the cluster are discovered. A URL may have a
    ///     user, a password or a token, and `tls://` in place of `nats://` requires encryption.
    ///   - credentialsFile: The path of a file with a JWT and a seed, as `nsc` creates it.
    ///   - authorityFile: The path of the certificates of authorities; nil for those of the system.
    ///   - certificateFile: The path of the certificate of this hub, if the brokers require one.
    ///   - keyFile: The path of the key of that certificate.
    ///   - replicas: Number of brokers that have each message: 1, 3 or 5.
    public static func nats(
        _ servers: [String], credentialsFile: String? = nil, authorityFile: String? = nil,
        certificateFile: String? = nil, keyFile: String? = nil, replicas: Int = 3
    ) -> HubEngine {
        HubEngine { database, _ in
            NATSHubLog(
                NATSConfiguration(
                    servers: servers, database: database, replicas: replicas,
                    credentialsFile: credentialsFile, authorityFile: authorityFile,
                    certificateFile: certificateFile, keyFile: keyFile))
        }
    }
}
