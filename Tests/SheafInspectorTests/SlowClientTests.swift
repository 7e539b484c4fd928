import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import SheafSystem
import SheafTestSupport
import Testing

extension InspectorTests {
    /// Clients of changes that do not read.
    @Suite(.serialized) struct SlowClientTests {
        @Test func `clients of changes are limited, and leave room for requests`() async throws {
            let fixture = try await InspectorFixture()
            var clients: [EventClient] = []
            for _ in 0..<16 {
                let client = EventClient(fixture)
                #expect(client.status == 200)
                clients.append(client)
            }
            let (status, answer) = try fixture.object("GET", "/changes")
            #expect(status == 503)
            #expect(
                answer == [
                    "error": [
                        "message": "there are 16 clients of changes already",
                        "hint": "close pages of the inspector that are not needed",
                    ]
                ])
            #expect(fixture.response("GET", "/about")?.status == 200)
            try await fixture.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            for client in clients { #expect(client.nextNamed()?.commit == 1) }
            await fixture.inspector.stop()
        }

        @Test func `clients of changes that are gone make room, also without commits`() async throws
        {
            var options = InspectorOptions()
            options.limits.silenceSeconds = 1
            let fixture = try await InspectorFixture(options)
            var clients = (0..<16).map { _ in EventClient(fixture) }
            #expect(clients.allSatisfy { $0.status == 200 })
            #expect(EventClient(fixture).status == 503)
            clients = []
            // The comments of the next seconds find the connections closed.
            let end = Clock.testDeadline()
            var status = 503
            while status != 200, Clock.system.monotonicNanoseconds() < end {
                status = EventClient(fixture).status
            }
            #expect(status == 200)
            await fixture.inspector.stop()
        }

        @Test func `a comment follows two seconds after the last event or comment`() {
            let body = StreamBody(drained: {})
            func sent() -> String {
                var bytes = [UInt8](repeating: 0, count: 100)
                let step = bytes.withUnsafeMutableBytes { body.read(into: $0) { {} } }
                guard case .bytes(let count) = step else { return "" }
                return String(decoding: bytes[..<count], as: UTF8.self)
            }
            let silence = UInt64(ServerLimits().silenceSeconds) * 1_000_000_000
            var stream = ChangeStream(
                body, since: 7, hasChanges: true, silenceNanoseconds: silence, at: 5)
            #expect(sent() == "id: 7\n\n")
            for start in [5, 2_000_000_005] as [UInt64] {
                stream.keepOpen(at: start + 1_999_999_999)
                #expect(sent().isEmpty)
                stream.keepOpen(at: start + 2_000_000_000)
                #expect(sent() == ":\n\n")
            }
        }

        @Test func `each commit postpones the comment, and follows the last one that was read`()
            async throws
        {
            let store = try await Store.inMemory()
            let body = StreamBody(drained: {})
            func sent() -> String {
                var bytes = [UInt8](repeating: 0, count: 2_000)
                let step = bytes.withUnsafeMutableBytes { body.read(into: $0) { {} } }
                guard case .bytes(let count) = step else { return "" }
                return String(decoding: bytes[..<count], as: UTF8.self)
            }
            /// The ids of the sent events; a comment is a colon.
            func events() -> [String] {
                sent().split(separator: "\n").filter { $0.hasPrefix("id: ") || $0 == ":" }
                    .map(String.init)
            }
            var stream = ChangeStream(
                body, since: 0, hasChanges: true, silenceNanoseconds: 100, at: 0)
            #expect(sent() == "id: 0\n\n")
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            try stream.advance(to: store.queries.snapshot(), at: 90)
            #expect(events() == ["id: 1"])
            try stream.advance(to: store.queries.snapshot(), at: 189)
            #expect(events() == [])
            for number in 2...4 {
                try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
            }
            try stream.advance(to: store.queries.snapshot(), at: 189)
            #expect(events() == ["id: 2", "id: 3", "id: 4"])
            try stream.advance(to: store.queries.snapshot(), at: 288)
            #expect(events() == [])
            try stream.advance(to: store.queries.snapshot(), at: 289)
            #expect(events() == [":"])
            // A full body takes neither a commit nor a comment, and both follow once it has room.
            body.write([UInt8](repeating: 0x78, count: 262_144))
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 5})")
            try stream.advance(to: store.queries.snapshot(), at: 500)
            body.write(Array("\n".utf8))
            var length = 0
            for _ in 0..<140 { length += sent().utf8.count }
            #expect(length == 262_145)
            try stream.advance(to: store.queries.snapshot(), at: 501)
            #expect(events() == ["id: 5"])
            try await store.close()
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

        /// Starts an inspector, and releases it on return; returns connections to it.
        private func connectToReleased(
            _ store: Store
        ) async throws -> (changes: EventClient, idle: RawClient, half: RawClient) {
            let fixture = try await InspectorFixture(store)
            let changes = EventClient(fixture)
            let first = changes.next()?.id
            let idle = RawClient(port: fixture.port)
            idle.send(fixture.request("GET", "/about"))
            let response = RawResponse(from: idle)
            let half = RawClient(port: fixture.port)
            half.send("GET /about HTTP/1.1\r\n")
            #expect(changes.status == 200 && first == 0 && response?.status == 200)
            #expect(idle.isQuiet)
            return (changes, idle, half)
        }

        @Test func `an inspector that is released ends its connections`() async throws {
            let store = try await Store.inMemory()
            let (changes, idle, half) = try await connectToReleased(store)
            #expect(changes.nextNamed() == nil)
            #expect(idle.isAtEnd && half.isAtEnd)
            // The store is not closed.
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            try await store.close()
        }
    }
}
