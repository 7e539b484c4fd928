import SheafTestSupport

/// Certificates of an authority that `openssl` creates, as files in PEM format.
struct TestCertificates: Sendable {
    struct Failed: Error { let lines: [String] }

    private let directory: String

    /// Creates the authority, the certificate of servers at 127.0.0.1, one of a server elsewhere,
    /// that of a hub with the name `hub`, and another authority.
    init(in directory: String) throws {
        self.directory = directory
        for authority in ["authority", "other"] {
            try Self.run(
                newKey(authority) + ["-subj", "/CN=\(authority)"]
                    + Self.extensions(isAuthority: true)
            )
        }
        for (name, subject) in [("server", "IP:127.0.0.1"), ("elsewhere", "IP:127.0.0.9")] {
            try sign(name, extension: "subjectAltName=\(subject)")
        }
        try sign("hub", extension: "extendedKeyUsage=clientAuth")
    }

    func certificate(_ name: String) -> String { "\(directory)/\(name).pem" }

    func key(_ name: String) -> String { "\(directory)/\(name).key" }

    private func newKey(_ name: String) -> [String] {
        [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-keyout", key(name), "-out", certificate(name),
        ]
    }

    private func sign(_ name: String, extension text: String) throws {
        try Self.run(
            newKey(name) + [
                "-subj", "/CN=\(name)", "-CA", certificate("authority"), "-CAkey", key("authority"),
                "-addext", text,
            ] + Self.extensions(isAuthority: false))
    }

    private static func extensions(isAuthority: Bool) -> [String] {
        ["-addext", "basicConstraints=critical,CA:\(isAuthority ? "TRUE" : "FALSE")"]
    }

    private static func run(_ arguments: [String]) throws {
        // Its progress goes to standard error.
        let command = ["-c", #"exec openssl "$@" 2>&1"#, "sh"]
        let (code, lines) = try ChildProcess.run("sh", command + arguments)
        guard code == 0 else { throw Failed(lines: lines) }
    }
}
