package import SheafHubLog
package import SheafSync

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The brokers of a hub log over NATS JetStream, and the names of its streams there.
package struct NATSConfiguration: Sendable {
    /// The proof of identity that the brokers require.
    package enum Credentials: Sendable {
        case none
        /// The path of a file with a JWT and a seed, as `nsc` generates it.
        case file(String)
        case user(String, password: String)
        case token(String)
    }

    /// TLS to the brokers; the files are in PEM format.
    package struct TLS: Sendable {
        /// The path of the certificates of authorities; nil for those of the system.
        package var authorityFile: String?
        /// The paths of the certificate of this hub and of its key, if the brokers require one.
        package var certificateFile: String?
        package var keyFile: String?

        package init(
            authorityFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil
        ) {
            self.authorityFile = authorityFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// URLs of brokers, such as `nats://10.0.0.1:4222`; the others of the cluster are discovered.
    package var servers: [String]
    /// The database, whose id is part of all names.
    package var database: Hello.DatabaseID
    package var credentials: Credentials
    /// Nil for connections without encryption, unless the URL of a broker begins with `tls://`.
    package var tls: TLS?
    /// Number of brokers that have each entry and object: 1, 3 or 5.
    package var replicas: Int
    /// The first part of all names, in lowercase letters, digits and underscores.
    package var prefix: String
    /// Maximum number of bytes of a shard that are delivered before they are consumed.
    package var unreadLength: Int
    /// Time limit of each request, in milliseconds.
    package var requestMilliseconds: Int64

    package init(
        servers: [String], database: Hello.DatabaseID, credentials: Credentials = .none,
        tls: TLS? = nil, replicas: Int = 3, prefix: String = "sheaf",
        unreadLength: Int = HubLimits.unreadLength, requestMilliseconds: Int64 = 5_000
    ) {
        self.servers = servers
        self.database = database
        self.credentials = credentials
        self.tls = tls
        self.replicas = replicas
        self.prefix = prefix
        self.unreadLength = unreadLength
        self.requestMilliseconds = requestMilliseconds
    }

    /// Creates the configuration of an engine; a file is nil if the brokers do not need it.
    package init(
        servers: [String], database: Hello.DatabaseID, replicas: Int, credentialsFile: String?,
        authorityFile: String?, certificateFile: String?, keyFile: String?
    ) {
        self.init(servers: servers, database: database, replicas: replicas)
        if let credentialsFile { credentials = .file(credentialsFile) }
        if authorityFile != nil || certificateFile != nil || keyFile != nil {
            tls = TLS(
                authorityFile: authorityFile, certificateFile: certificateFile, keyFile: keyFile)
        }
    }

    /// Whether connections without encryption are refused.
    package var requiresEncryption: Bool {
        tls != nil || servers.contains { $0.lowercased().hasPrefix("tls://") }
    }

    /// Throws if a value is not allowed.
    package func check() throws(HubLogError) {
        guard !servers.isEmpty else {
            throw .refused("no broker; name at least one, such as nats://10.0.0.1:4222")
        }
        for server in servers {
            guard let port = EngineURL.port(of: server), UInt16(port) ?? 0 == 0 else { continue }
            throw .refused(
                "\(EngineURL.withoutSecrets(server)): the port \(port); it is a number from 1 to 65535"
            )
        }
        if case .file(let path) = credentials, access(path, R_OK) != 0 {
            let reason = String(cString: strerror(errno))
            throw .refused("the credentials \(path) cannot be read: \(reason)")
        }
        guard replicas == 1 || replicas == 3 || replicas == 5 else {
            throw .refused("\(replicas) replicas; the number of replicas is 1, 3 or 5")
        }
        let isPrefix = prefix.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        }
        guard isPrefix, 1...32 ~= prefix.utf8.count else {
            throw .refused(
                "the prefix \(prefix); it has 1 to 32 lowercase letters, digits and underscores")
        }
        guard requestMilliseconds > 0, unreadLength > 0 else {
            throw .refused("a time limit or a number of unread bytes that is not positive")
        }
        if let tls, (tls.certificateFile == nil) != (tls.keyFile == nil) {
            throw .refused("a certificate without its key, or the reverse; name both files")
        }
    }
}
