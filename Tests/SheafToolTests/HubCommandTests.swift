import SheafTestSupport
import Testing

/// The commands of hubs, as far as they need no engine.
@Suite struct HubCommandTests {
    @Test func `a hub that cannot run reports why`() throws {
        let scene = PeerScene()
        _ = try scene.key("k")
        let common = ["--database", "d", "--key", scene.path("k"), "--listen", "127.0.0.1:0"]
        let nats = common + ["--log", "nats://127.0.0.1:1"]
        let cases: [(words: [String], status: Int32, complaint: String)] = [
            (common, 64, "missing --log URL, such as nats://127.0.0.1:4222"),
            (
                common + ["--log", "http://a"], 64,
                "must begin with nats://, tls:// or postgresql://"
            ),
            (
                common + ["--log", "http://hub:secret,secret@a?secret"], 64,
                "must begin with nats://, tls:// or postgresql://, not 'http://a'"
            ),
            (
                common + ["--log", "nats://a,tls://secret@b"], 64,
                "all brokers of --log must have the scheme nats://, and not that of 'tls://b'"
            ),
            (
                common + ["--log", "postgresql://a/b", "--log", "postgresql://c/d"], 64,
                "--log is given once for PostgreSQL"
            ),
            (
                common + ["--log", "postgresql://a/b", "--replicas", "3"], 64,
                "--replicas is an option of NATS"
            ),
            (nats + ["--replicas", "2"], 64, "--replicas must be 1, 3 or 5, not 2"),
            (nats + ["--shards", "3"], 64, "--shards must be a power of two from 1 to 256, not 3"),
            (nats + ["--shards", "0"], 64, "--shards must be a power of two from 1 to 256, not 0"),
            (nats + ["--shards", "512"], 64, "must be a power of two from 1 to 256, not 512"),
            (nats + ["--http", "8080"], 64, "--http requires an address and a port"),
            (nats + ["--log-key", "f"], 64, "--log-certificate and --log-key require each other"),
            (
                nats + ["--log-certificate", "f"], 64,
                "--log-certificate and --log-key require each other"
            ),
            (nats + ["--max-connections", "0"], 64, "--max-connections must be from 1 to 1000000"),
            (nats + ["--max-connections", "1000001"], 64, "must be from 1 to 1000000"),
            (["--log", "nats://a", "--database", "d"], 64, "missing --key FILE"),
        ]
        for (words, status, message) in cases {
            let run = try ToolRun(["hub", "serve", scene.path("store")] + words)
            #expect(run.status == status && run.output.isEmpty, "\(words): \(run.errors)")
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
            #expect(!run.errors.contains("secret"), "\(run.errors)")
        }
    }

    #if NATS
        @Test func `brokers after the first one have its scheme, unless they have their own`()
            throws
        {
            let scene = PeerScene()
            _ = try scene.key("k")
            let common = ["--database", "d", "--key", scene.path("k"), "--listen", "127.0.0.1:0"]
            // The URL of a broker with an impossible port is in the error.
            for (urls, url) in [
                ("nats://a:1,b:99999", "nats://b:99999"), ("tls://a:1,b:99999", "tls://b:99999"),
                ("nats://a:1,nats://b:99999", "nats://b:99999"),
            ] {
                let run = try ToolRun(
                    ["hub", "serve", scene.path("store"), "--log", urls] + common)
                #expect(run.status == 1)
                #expect(run.errors.contains(" \(url): the port 99999; "), "\(run.errors)")
            }
        }
    #endif

    #if !NATS
        @Test func `a tool without the library of an engine names the package trait`() throws {
            let scene = PeerScene()
            _ = try scene.key("k")
            let common = ["--database", "d", "--key", scene.path("k"), "--listen", "127.0.0.1:0"]
            for (url, trait) in [
                ("nats://127.0.0.1:1", "NATS"), ("postgresql://127.0.0.1:1/d", "PostgreSQL"),
            ] {
                // The numbers are the largest ones, which are allowed.
                let run = try ToolRun(
                    [
                        "hub", "serve", scene.path("store"), "--log", url, "--shards", "256",
                        "--max-connections", "1000000",
                    ] + common)
                #expect(run.status == 1)
                #expect(
                    run.errors.contains(
                        "built without the package trait \(trait), which the hub log needs; build "
                            + "it with --traits \(trait)"), "\(run.errors)")
            }
        }
    #endif

    @Test func `status, upgrade and replace need a running hub`() throws {
        let scene = PeerScene()
        let ann = try scene.serve("ann", "--listen", "127.0.0.1:0")
        _ = try ann.address()
        for verb in ["status", "upgrade", "replace"] {
            let run = try ToolRun(["hub", verb, ann.store])
            #expect(run.status == 1)
            #expect(
                run.errors.contains("is no hub; start one with 'sheaf hub serve'"),
                "\(run.errors)")
        }
        #expect(try ann.stop() == 0)
    }
}
