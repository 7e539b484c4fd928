import Sheaf
import SheafDocument
import SheafInspector
import SheafReplication
import SheafStatements
import SheafStore
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

extension InspectorTests {
    /// The answers about a store and its peer, compared as a unit.
    @Suite(.serialized) struct InspectedStoreTests {
        /// A transport that reports the events that a test passes.
        private final class FailingTransport: PeerTransport {
            private let host = Mutex<(any PeerTransportHost)?>(nil)

            func start(_ host: any PeerTransportHost) { self.host.withLock { $0 = host } }
            func stop() { host.withLock { $0 = nil } }

            func report(_ event: PeerTransportEvent) { host.withLock { $0 }?.report(event) }
        }

        @Test func `an inspector names its store, its commit and what it may do`() async throws {
            let fixture = try await InspectorFixture()
            let version = Value.string(SheafVersion.current)
            #expect(
                try fixture.object("GET", "/about").1 == [
                    "path": "memory", "commit": 0, "isWritable": false, "hasPeer": false,
                    "version": version,
                ])
            await fixture.inspector.stop()
            let directory = TemporaryDirectory()
            let path = directory.path("store")
            let store = try await Store.open(at: path)
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            let second = try await InspectorFixture(store, InspectorOptions(isWritable: true))
            let shown = try #require(store.path)
            #expect(
                try second.object("GET", "/about").1 == [
                    "path": .string(shown), "commit": 1, "isWritable": true, "hasPeer": false,
                    "version": version,
                ])
            await second.inspector.stop()
            try await store.close()
        }

        @Test func `the URL has the address, or the loopback address of all addresses`()
            async throws
        {
            let store = try await Store.inMemory()
            for (address, host, isLoopback) in [
                ("127.0.0.1", "127.0.0.1", true), ("localhost", "127.0.0.1", true),
                ("0.0.0.0", "127.0.0.1", false), ("::1", "[::1]", true), ("::", "[::1]", false),
            ] {
                let started = try? await Inspector.start(
                    store, options: InspectorOptions(address: address))
                // A machine may lack IPv6.
                guard let inspector = started else {
                    #expect(address.hasPrefix("::"))
                    continue
                }
                #expect(inspector.isLoopback == isLoopback)
                let start = "http://\(host):\(inspector.port)/?token="
                #expect(inspector.url.hasPrefix(start), "\(inspector.url)")
                #expect(inspector.url.count == start.count + 64)
                await inspector.stop()
            }
        }

        @Test func `each file of the page is served with the type of its ending`() async throws {
            let fixture = try await InspectorFixture()
            let folder = "Sources/SheafInspector/Page"
            let types = [
                "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
                "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
            ]
            for name in try ProjectFile.names(in: folder) {
                let response = try #require(fixture.response("GET", "/" + name))
                let ending = String(name.split(separator: ".").last ?? "")
                #expect(response.status == 200, "\(name)")
                #expect(response.header["content-type"] == types[ending], "\(name)")
                let text = try ProjectFile.text("\(folder)/\(name)")
                let isSame = response.text == text
                #expect(isSame, "\(name)")
            }
            let page = try #require(fixture.response("GET", "/"))
            let index = try ProjectFile.text("\(folder)/index.html")
            #expect(page.text == index)
            for path in ["xapp.js", "/app", "/.js", "/app.js.js"] {
                #expect(fixture.response("GET", path)?.status != 200, "\(path)")
            }
            await fixture.inspector.stop()
        }

        @Test func `bytes within arrays and objects are objects with Base64`() async throws {
            let fixture = try await InspectorFixture()
            let bytes = Value.bytes([0, 255, 16])
            let car: Object = [
                "_id": 1, "o": .object(["b": bytes, "n": 1, "p": .object(["c": bytes])]),
                "l": .array([.array([bytes, 2]), .object(["d": bytes]), "x"]),
            ]
            try await fixture.store.execute(
                "INSERT INTO cars DOCUMENTS (:car)", QueryArguments(["car": .object(car)]))
            let shown: Value = ["$bytes": "AP8Q"]
            let answer = try fixture.query("SELECT o, l FROM cars").1
            #expect(
                answer["rows"] == [
                    [
                        "o": ["b": shown, "n": 1, "p": ["c": shown]],
                        "l": [[shown, 2], ["d": shown], "x"],
                    ]
                ])
            await fixture.inspector.stop()
        }

        @Test func `the event of a commit has the time, site and origin of the log`() async throws {
            let cars: DQL = "SELECT * FROM cars"
            let mesh = try await MeshFixture([[cars], [cars]])
            let store = mesh.peers[0].store
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            try await mesh.peers[1].store.execute("INSERT INTO cars DOCUMENTS ({'_id': 2})")
            mesh.connect(0, 1)
            _ = try mesh.explanation(2, on: 0, until: [])
            try await store.execute("DELETE FROM cars WHERE _id = 1")
            let (_, answer) = try mesh.fixture.query(
                "SELECT commit, time, site, isLocal FROM system:log ORDER BY commit")
            guard case .array(let rows)? = answer["rows"] else {
                Issue.record("There are no rows.")
                return
            }
            let complete = EventClient(mesh.fixture, "/changes?since=0")
            let brief = EventClient(mesh.fixture, "/changes?since=0&fields=0")
            var origins: [Value] = []
            for row in rows {
                var event = try #require(complete.nextNamed()).data
                event["changes"] = nil
                event["isTruncated"] = nil
                #expect(Value.object(event) == row)
                let short = try #require(brief.nextNamed()).data
                #expect(short == event)
                origins.append(event["isLocal"] ?? .null)
            }
            #expect(origins.first == true && origins.contains(false))
            try await mesh.close()
        }

        @Test func `a step without a connection names the first four unreachable addresses`()
            async throws
        {
            let transport = FailingTransport()
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "cars", key: .random(), transports: [transport]))
            try peer.sync.start()
            let fixture = try await InspectorFixture(peer)
            let start = "no connection has led to the peer since this one was started"
            var expected = start
            for number in 1...5 {
                let target = "/explain?collection=cars&id=1&peer=\(PeerKey.random())"
                transport.report(
                    .unreachable(
                        address: "a:\(number)", reason: "reason \(number)", nextTryMilliseconds: 9))
                // The thread of the peer has then handled all earlier events.
                _ = try peer.sync.surveys()
                if number < 5 { expected += "; a:\(number) is unreachable: reason \(number)" }
                let (_, answer) = try fixture.object("GET", target)
                guard case .array(let steps)? = answer["steps"],
                    case .object(let step)? = steps.first
                else {
                    Issue.record("There is no step.")
                    return
                }
                #expect(steps.count == 1 && step["state"] == "notConnected")
                #expect(step["reason"] == .string(expected))
                #expect(answer["blocking"] == 0 && answer["document"] == "missing")
            }
            await fixture.inspector.stop()
            try await peer.close()
        }
    }
}
