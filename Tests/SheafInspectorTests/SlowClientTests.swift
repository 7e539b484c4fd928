import SheafInspector
import SheafStatements
import SheafStore
import SheafTestSupport
import Testing

extension InspectorTests {
    /// Clients of changes that do not read.
    @Suite struct SlowClientTests {
        @Test
        func `a client that does not read takes bounded memory, and later receives everything`()
            async throws
        {
            let fixture = try await InspectorFixture()
            let name = String(repeating: "x", count: 200)
            let fields = (0..<200).map { "'\(name)\($0)': 1" }.joined(separator: ", ")
            // About 40 KB of names in each event, and so 68 MB in all of them.
            let count = 1_700
            for number in 0..<count {
                try await fixture.store.execute(
                    DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': \(number), \(fields)})"))
            }
            let before = ProcessMemory.kibibytes("VmRSS")
            ProcessMemory.forgetPeak()
            let client = EventClient(fixture, "/changes?since=0")
            #expect(client.next()?.id == 0)
            // Another client reads everything meanwhile.
            let reader = EventClient(fixture, "/changes?since=0")
            for number in 1...count { #expect(reader.nextNamed()?.commit == Int64(number)) }
            #expect(ProcessMemory.kibibytes("VmHWM") - before < 32 << 10)
            var last: Int64 = 0
            // A client that has not read for long is disconnected, and continues where it was.
            while let event = client.nextNamed(), event.commit != Int64(count) {
                #expect(event.commit == last + 1)
                last += 1
            }
            let again = EventClient(fixture, "/changes", ["Last-Event-ID: \(last)"])
            #expect(again.nextNamed()?.commit == last + 1)
            await fixture.inspector.stop()
        }

        @Test func `clients of changes are limited, and leave room for requests`() async throws {
            let fixture = try await InspectorFixture()
            var clients: [EventClient] = []
            for _ in 0..<16 {
                let client = EventClient(fixture)
                #expect(client.status == 200)
                clients.append(client)
            }
            #expect(EventClient(fixture).status == 503)
            #expect(fixture.response("GET", "/about")?.status == 200)
            try await fixture.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            for client in clients { #expect(client.nextNamed()?.commit == 1) }
            await fixture.inspector.stop()
        }

        @Test func `an inspector stops while clients wait and statements run`() async throws {
            for _ in 0..<20 {
                let fixture = try await InspectorFixture()
                let clients = (0..<4).map { _ in EventClient(fixture) }
                let waiting = RawClient(port: fixture.port)
                waiting.send(
                    fixture.request(
                        "POST", "/query", body: #"{"statement": "SELECT 1 FROM system:dual"}"#))
                let half = RawClient(port: fixture.port)
                half.send("GET /about HTTP/1.1\r\n")
                await fixture.inspector.stop()
                await fixture.inspector.stop()
                for client in clients { #expect(client.nextNamed() == nil) }
                #expect(half.isAtEnd)
            }
        }
    }
}
