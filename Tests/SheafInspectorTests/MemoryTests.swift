import Sheaf
import SheafDocument
import SheafStatements
import SheafStore
import SheafTestSupport
import Testing

extension InspectorTests {
    /// The memory of a process with an inspector.
    @Suite(.serialized) struct MemoryTests {
        private let directory = TemporaryDirectory()
        private var path: String { directory.path("store") }

        /// Creates a store with commits of about 40 KB of field names.
        private func makeStore(commits: Int) async throws {
            let store = try await Store.open(at: path)
            let name = String(repeating: "x", count: 200)
            var car = Object((0..<200).map { ("\(name)\($0)", .integer(1)) })
            for number in 0..<commits {
                car["_id"] = .integer(Int64(number))
                // Parsing a literal would take most of the time.
                try await store.execute(
                    "INSERT INTO cars DOCUMENTS (:car)", QueryArguments(["car": .object(car)]))
            }
            try await store.close()
        }

        @Test
        func `a client that does not read takes bounded memory, and later receives everything`()
            async throws
        {
            // 40 MB in all events.
            let count = 1_000
            try await makeStore(commits: count)
            let inspector = try InspectorProcess(path)
            #expect(EventClient(inspector, "/changes?since=\(count)").next()?.id == UInt64(count))
            // Without the pages of the log, which the system may drop.
            let before = inspector.memory("RssAnon")
            try #require(before > 0)
            let client = EventClient(inspector, "/changes?since=0")
            #expect(client.next()?.id == 0)
            // Another client reads everything meanwhile.
            let reader = EventClient(inspector, "/changes?since=0")
            for number in 1...count {
                #expect(reader.nextNamed()?.commit == Int64(number))
                guard number.isMultiple(of: 50) else { continue }
                #expect(inspector.memory("RssAnon") - before < 32 << 10)
            }
            var last: Int64 = 0
            // A client that has not read for long is disconnected, and continues where it was.
            while let event = client.nextNamed(), let commit = event.commit {
                #expect(commit == last + 1)
                last = commit
                if last == Int64(count) { break }
            }
            guard last < count else { return }
            let again = EventClient(inspector, "/changes", ["Last-Event-ID: \(last)"])
            #expect(again.nextNamed()?.commit == last + 1)
        }

        @Test func `refused requests and slow connections need at most 64 MiB`() async throws {
            try await makeStore(commits: 1)
            let inspector = try InspectorProcess(path)
            #expect(inspector.response("GET", "/about")?.status == 200)
            let before = inspector.memory("VmRSS")
            try #require(before > 0)
            ProcessMemory.forgetPeak(of: inspector.child.identifier)
            let slow = (0..<100).map { _ in RawClient(port: inspector.port) }
            for (number, client) in slow.enumerated() {
                client.send("POST /query HTTP/1.1\r\nHost: \(number)")
            }
            let part = [UInt8](repeating: 0x20, count: 1 << 20)
            for header in ["Content-Length: \(1 << 30)", "Transfer-Encoding: chunked"] {
                for _ in 0..<4 {
                    let client = RawClient(port: inspector.port)
                    client.send(
                        "POST /query HTTP/1.1\r\nHost: \(inspector.host)\r\n\(header)\r\n"
                            + "Content-Type: application/json\r\n\r\n")
                    var sent = 0
                    while sent < 1_024, client.send(part) { sent += 1 }
                    #expect(sent < 1_024)
                }
            }
            #expect(inspector.memory("VmHWM") - before < 64 << 10)
            // The slow connections are closed, so that others are answered.
            #expect(inspector.response("GET", "/about")?.status == 200)
        }
    }
}
