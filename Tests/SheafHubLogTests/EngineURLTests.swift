import SheafHubLog
import Testing

@Suite struct EngineURLTests {
    @Test(arguments: [
        ("nats://10.0.0.1:4222", "nats://10.0.0.1:4222"),
        ("10.0.0.1:4222", "10.0.0.1:4222"),
        ("nats://hub:secret@10.0.0.1:4222", "nats://10.0.0.1:4222"),
        ("nats://secret@10.0.0.1", "nats://10.0.0.1"),
        ("hub:secret@10.0.0.1", "10.0.0.1"),
        ("nats://hub:sec/ret@10.0.0.1", "nats://10.0.0.1"),
        ("nats://hub:sec@ret,x@10.0.0.1", "nats://10.0.0.1"),
        ("postgresql://hub:secret@db-1,db-2/hubs?sslmode=require", "postgresql://db-1,db-2/hubs"),
        ("postgresql://db-1/hubs?user=hub&password=secret", "postgresql://db-1/hubs"),
        ("postgresql://db-1/hubs?password=sec@ret", "postgresql://..."),
        ("postgresql://hub:sec?ret@db-1/hubs", "postgresql://..."),
        ("", ""),
    ])
    func `a URL is shown without its secrets`(_ url: String, _ shown: String) {
        #expect(EngineURL.withoutSecrets(url) == shown)
    }

    @Test(
        arguments: [
            ("nats://10.0.0.1:4222", "4222"), ("nats://hub:secret@10.0.0.1:4222/", "4222"),
            ("tls://[::1]:4222", "4222"), ("nats://[::1]", nil), ("nats://10.0.0.1", nil),
            ("nats://hub:secret@10.0.0.1", nil), ("nats://:99999", "99999"), ("", nil),
        ] as [(String, String?)])
    func `the port of a URL is found`(_ url: String, _ port: String?) {
        #expect(EngineURL.port(of: url) == port)
    }
}
