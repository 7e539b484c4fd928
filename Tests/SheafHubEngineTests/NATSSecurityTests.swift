#if NATS
    import SheafHubLog
    import SheafHubNATS
    import SheafTestSupport
    import Testing

    extension NATSTests {
        /// Tests of TLS and credentials over one broker.
        @Suite(
            .enabled(
                if: NATSCluster.program != nil,
                "SHEAF_NATS_SERVER must be the path of a nats-server, version 2.12 or later"))
        struct NATSSecurityTests {
            private let directory = TemporaryDirectory()
            private let certificates: TestCertificates

            init() throws {
                certificates = try TestCertificates(in: directory.path)
            }

            /// The lines of a broker that has a certificate.
            private func tls(_ name: String, verifiesHubs: Bool) -> String {
                """
                tls {
                  cert_file: "\(certificates.certificate(name))", key_file: "\(certificates.key(name))"
                  ca_file: "\(certificates.certificate("authority"))", verify: \(verifiesHubs)
                }
                """
            }

            private func tls(hub: String? = nil) -> NATSConfiguration.TLS {
                NATSConfiguration.TLS(
                    authorityFile: certificates.certificate("authority"),
                    certificateFile: hub.map { certificates.certificate($0) },
                    keyFile: hub.map { certificates.key($0) })
            }

            /// Expects that a hub cannot connect; returns the text of the error.
            private func refusal(
                _ cluster: NATSCluster, _ change: (inout NATSConfiguration) -> Void
            ) -> String {
                var configuration = cluster.configuration(database: 1)
                configuration.requestMilliseconds = 2_000
                change(&configuration)
                let log = NATSHubLog(configuration)
                defer { log.stop() }
                let error = #expect(throws: HubLogError.self) { try log.start(RecordingHost()) }
                return error?.description ?? ""
            }

            @Test func `brokers and hubs prove their identity with certificates`() throws {
                let access = tls(hub: "hub")
                let cluster = try NATSCluster(
                    count: 1, security: tls("server", verifiesHubs: true)
                ) { $0.tls = access }
                for check in [HubLogCheck.order, .objects, .replace, .broadcast] {
                    try check.run(cluster.engine(database: 7))
                }
                let other = certificates.certificate("other")
                let missing = directory.path("none")
                let changes: [(reason: String, change: (inout NATSConfiguration) -> Void)] = [
                    ("SSL", { $0.tls?.authorityFile = nil }),
                    ("SSL", { $0.tls?.authorityFile = other }),
                    (missing, { $0.tls?.authorityFile = missing }),
                    ("name both files", { $0.tls?.keyFile = nil }),
                    (
                        "",
                        {
                            $0.tls?.certificateFile = nil
                            $0.tls?.keyFile = nil
                        }
                    ),
                ]
                for (reason, change) in changes {
                    let text = refusal(cluster, change)
                    #expect(text.contains(reason) || reason.isEmpty)
                }
            }

            @Test func `a broker without TLS is refused if the URL requires it`() throws {
                let cluster = try NATSCluster(count: 1)
                let text = refusal(cluster) { configuration in
                    configuration.servers = configuration.servers.map {
                        $0.replacing("nats://", with: "tls://")
                    }
                }
                #expect(text.contains("Secure Connection not available"))
            }

            @Test func `a port or a file that cannot be right is refused`() throws {
                let cluster = try NATSCluster(count: 1)
                let port = refusal(cluster) { $0.servers = ["nats://hub:secret@127.0.0.1:99999"] }
                #expect(
                    port.contains(
                        "nats://127.0.0.1:99999: the port 99999; it is a number from 1 to 65535"))
                let missing = directory.path("none.creds")
                let file = refusal(cluster) { $0.credentials = .file(missing) }
                #expect(file.contains("the credentials \(missing) cannot be read: No such file"))
            }

            @Test func `a broker with the certificate of another host is refused`() throws {
                let access = tls()
                let error = #expect(throws: HubLogError.self) {
                    try NATSCluster(
                        count: 1, security: tls("elsewhere", verifiesHubs: false), timeoutSeconds: 3
                    ) { $0.tls = access }
                }
                #expect(error?.description.contains("SSL") == true)
            }

            @Test func `a hub proves its identity with credentials that an operator signed`() throws
            {
                let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
                let script = parts.dropLast(2).joined(separator: "/") + "/HubEngines/credentials.py"
                let (code, lines) = try ChildProcess.run("python3", ["-B", script, directory.path])
                try #require(code == 0)
                let file = directory.path("user.creds")
                let cluster = try NATSCluster(
                    count: 1, security: lines.joined(separator: "\n")
                ) { $0.credentials = .file(file) }
                for check in [HubLogCheck.order, .objects, .replace] {
                    try check.run(cluster.engine(database: 7))
                }
                for credentials: NATSConfiguration.Credentials in [.none, .file(directory.path)] {
                    let text = refusal(cluster) { $0.credentials = credentials }
                    #expect(!text.isEmpty)
                }
            }

            @Test func `a hub is notified when brokers do not accept it any more`() throws {
                let cluster = try NATSCluster(
                    count: 1, security: "authorization { token: before }"
                ) { $0.credentials = .token("before") }
                let hub = try cluster.engine(database: 7).start()
                defer { hub.stop() }
                cluster.kill(0)
                try cluster.start(0, security: "authorization { token: after }")
                #expect(
                    hub.host.waits { state in
                        if case .refused(let reason) = state.loss {
                            reason.contains("Authorization Violation")
                        } else {
                            false
                        }
                    })
                #expect(hub.host.current.connections.dropFirst().allSatisfy { !$0 })
            }

            @Test(arguments: [
                (
                    "authorization { user: hub, password: \"right one\" }",
                    NATSConfiguration.Credentials.user("hub", password: "right one"),
                    NATSConfiguration.Credentials.user("hub", password: "secret")
                ),
                ("authorization { token: \"right one\" }", .token("right one"), .token("secret")),
            ])
            func `hubs prove their identity with a secret, which no error has`(
                _ security: String, _ right: NATSConfiguration.Credentials,
                _ wrong: NATSConfiguration.Credentials
            ) throws {
                let cluster = try NATSCluster(count: 1, security: security) {
                    $0.credentials = right
                }
                for check in [HubLogCheck.order, .objects, .replace] {
                    try check.run(cluster.engine(database: 7))
                }
                for credentials in [wrong, .none] {
                    let text = refusal(cluster) { $0.credentials = credentials }
                    #expect(text.contains("Authorization Violation"))
                    #expect(!text.contains("secret") && !text.contains("right one"))
                }
            }
        }
    }
#endif
