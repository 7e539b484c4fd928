import SheafBytes
import SheafHubLog
import SheafHubNATS
import SheafTestSupport
import Testing

/// Tests of the values that a hub log over NATS refuses, which need no broker.
@Suite struct NATSConfigurationTests {
    private let directory = TemporaryDirectory()

    /// Returns the reason why a configuration is refused; nil if it is not.
    private func refusal(_ change: (inout NATSConfiguration) -> Void) -> String? {
        var configuration = NATSConfiguration(
            servers: ["nats://10.0.0.1:4222"], database: .init(low: 1, high: 1))
        change(&configuration)
        do throws(HubLogError) {
            try configuration.check()
            return nil
        } catch {
            guard case .refused(let reason) = error else { return "another error: \(error)" }
            return reason
        }
    }

    @Test func `each broker has a port from 1 to 65535, or none`() {
        #expect(
            refusal { $0.servers = [] }
                == "no broker; name at least one, such as nats://10.0.0.1:4222")
        for server in ["nats://a", "nats://a:1", "nats://a:65535", "tls://[::1]"] {
            #expect(refusal { $0.servers = [server] } == nil, "\(server)")
        }
        for port in ["0", "65536", "x", "-1"] {
            #expect(
                refusal { $0.servers = ["nats://a", "nats://hub:secret@b:\(port)"] }
                    == "nats://b:\(port): the port \(port); it is a number from 1 to 65535")
        }
    }

    @Test func `a file with credentials can be read`() throws {
        let path = directory.path("hub.creds")
        #expect(
            refusal { $0.credentials = .file(path) }
                == "the credentials \(path) cannot be read: No such file or directory")
        #expect(refusal { $0.credentials = .file(directory.path) } == nil)
        #expect(refusal { $0.credentials = .user("hub", password: path) } == nil)
        #expect(refusal { $0.credentials = .token(path) } == nil)
    }

    @Test func `one, three or five brokers have each message`() {
        for replicas in -1...7 {
            let isAllowed = [1, 3, 5].contains(replicas)
            #expect(
                refusal { $0.replicas = replicas }
                    == (isAllowed
                        ? nil : "\(replicas) replicas; the number of replicas is 1, 3 or 5"))
        }
    }

    @Test func `a prefix has 1 to 32 lowercase letters, digits and underscores`() {
        let valid = Set("abcdefghijklmnopqrstuvwxyz0123456789_".utf8)
        for byte in UInt8(0)..<0x80 {
            let prefix = "a" + String(UnicodeScalar(byte))
            let isRefused = refusal { $0.prefix = prefix } != nil
            #expect(isRefused != valid.contains(byte), "byte \(byte)")
        }
        for (count, isAllowed) in [(0, false), (1, true), (32, true), (33, false)] {
            let prefix = String(repeating: "p", count: count)
            let reason =
                "the prefix \(prefix); it has 1 to 32 lowercase letters, digits and underscores"
            #expect(refusal { $0.prefix = prefix } == (isAllowed ? nil : reason))
        }
    }

    @Test func `time limits and numbers of unread bytes are positive`() {
        let reason = "a time limit or a number of unread bytes that is not positive"
        for (value, expected) in [(-1, reason), (0, reason), (1, nil)] as [(Int, String?)] {
            #expect(refusal { $0.requestMilliseconds = Int64(value) } == expected)
            #expect(refusal { $0.unreadLength = value } == expected)
        }
    }

    @Test func `a certificate and its key are given together`() {
        let reason = "a certificate without its key, or the reverse; name both files"
        let cases: [(certificate: String?, key: String?, reason: String?)] = [
            (nil, nil, nil), ("c", "k", nil), ("c", nil, reason), (nil, "k", reason),
        ]
        for (certificate, key, expected) in cases {
            let found = refusal {
                $0.tls = NATSConfiguration.TLS(
                    authorityFile: "a", certificateFile: certificate, keyFile: key)
            }
            #expect(found == expected)
        }
    }

    @Test func `an engine has three replicas, and the files that its caller names`() {
        let database = HubLogID(low: 1, high: 2)
        let plain = NATSConfiguration(servers: ["nats://a"], database: database)
        #expect(plain.replicas == 3 && plain.prefix == "sheaf" && plain.tls == nil)
        #expect(plain.unreadLength == 67_108_864 && plain.requestMilliseconds == 5_000)
        if case .none = plain.credentials {} else { Issue.record("\(plain.credentials)") }

        let files: [(authority: String?, certificate: String?, key: String?)] = [
            (nil, nil, nil), ("a", nil, nil), (nil, "c", nil), (nil, nil, "k"), ("a", "c", "k"),
        ]
        for (authority, certificate, key) in files {
            let found = NATSConfiguration(
                servers: ["nats://a", "nats://b"], database: database, replicas: 5,
                credentialsFile: nil, authorityFile: authority, certificateFile: certificate,
                keyFile: key)
            #expect(found.servers == ["nats://a", "nats://b"] && found.database == database)
            #expect(found.replicas == 5)
            #expect((found.tls == nil) == (authority == nil && certificate == nil && key == nil))
            #expect(found.tls?.authorityFile == authority && found.tls?.keyFile == key)
            #expect(found.tls?.certificateFile == certificate)
            if case .none = found.credentials {} else { Issue.record("\(found.credentials)") }
        }
        let named = NATSConfiguration(
            servers: [], database: database, replicas: 1, credentialsFile: "hub.creds",
            authorityFile: nil, certificateFile: nil, keyFile: nil)
        var path: String?
        if case .file(let found) = named.credentials { path = found }
        #expect(path == "hub.creds" && named.tls == nil)
    }

    @Test func `connections are encrypted if a file or the URL of a broker requires it`() {
        func isEncrypted(_ servers: [String], _ tls: NATSConfiguration.TLS? = nil) -> Bool {
            NATSConfiguration(servers: servers, database: .init(low: 1, high: 1), tls: tls)
                .requiresEncryption
        }
        #expect(!isEncrypted([]))
        #expect(!isEncrypted(["nats://a", "nats://tls"]))
        #expect(isEncrypted(["nats://a", "TLS://b"]))
        #expect(isEncrypted(["nats://a"], NATSConfiguration.TLS()))
    }
}
