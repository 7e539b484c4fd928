import Sheaf
import SheafHub
import SheafInspector
import SheafTestSupport
import Testing

#if Inspector
    /// The web server of a hub.
    @Suite struct HubHealthTests {
        @Test func `health checks and metrics show the state of a hub`() async throws {
            let scene = HubScene()
            let gate = LogGate()
            gate.set { $0.holdsEntries = true }
            let options = HubOptions(healthAddress: "127.0.0.1")
            let hub = try await scene.hub(options: options, through: gate)
            let port = try #require(hub.healthPort)
            try await until("the hub has begun") { !hub.status.shards.isEmpty }
            #expect(try get("/live", port) == Answer(200, "live\n"))
            #expect(
                try get("/ready", port)
                    == Answer(503, "shard 0 is read up to entry 0, and not to its end\n"))
            #expect(try get("/metrics", port).text.contains("sheaf_hub_ready 0\n"))
            gate.open()
            try await hub.waitUntilReady()
            #expect(try get("/ready", port) == Answer(200, "ready\n"))
            let metrics = try get("/metrics", port).text
            for line in [
                "sheaf_hub_ready 1", "sheaf_hub_live 1", "sheaf_hub_unstored_bytes 0",
                "sheaf_hub_incidents 0",
            ] {
                #expect(metrics.contains(line + "\n"), "\(metrics)")
            }
            // A hub that could not run for 10 seconds has appended a second mark.
            #expect(try #require(metrics.firstMatch(of: /sheaf_hub_read_entries (\d+)\n/)).1 != "0")
            #expect(try get("/", port).status == 404)
            #expect(try get("/ready", port, method: "POST").status == 405)
            await hub.drain()
            #expect(try get("/ready", port) == Answer(503, "the hub is draining: it stops\n"))
            try await hub.close()
            #expect(throws: LoopbackConnection.Failure.self) { try get("/live", port) }
        }

        @Test func `a hub that waits for its engine is live, and shows the reason`() async throws {
            let scene = HubScene()
            let gate = LogGate()
            gate.set { $0.isUnreachable = true }
            let port = Loopback.freePorts(1)[0]
            let options = HubOptions(
                healthAddress: "127.0.0.1", healthPort: port, startSeconds: HubScene.longSeconds)
            let opening = Task { try await scene.hub(options: options, through: gate) }
            let reason = "the hub log cannot be opened yet: the hub log did not respond"
            try await until("the reason is shown") {
                try gate.refusedStarts > 0 && get("/ready", port).text.hasPrefix(reason)
            }
            #expect(try get("/live", port) == Answer(200, "live\n"))
            #expect(try get("/ready", port).status == 503)
            #expect(try get("/metrics", port).status == 503)
            gate.open()
            let hub = try await opening.value
            try await hub.waitUntilReady()
            #expect(try get("/ready", port) == Answer(200, "ready\n"))
            try await hub.close()
        }

        @Test func `clients that keep their connections do not keep others waiting`() async throws {
            let scene = HubScene()
            let hub = try await scene.hub(options: HubOptions(healthAddress: "127.0.0.1"))
            let port = try #require(hub.healthPort)
            for _ in 0..<300 {
                let connection = try LoopbackConnection(port: port)
                #expect(connection.send(Array("GET /live HTTP/1.1\r\nHost: x\r\n\r\n".utf8)))
                var bytes: [UInt8] = []
                while case let part = try connection.receive(), !part.isEmpty { bytes += part }
                #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("live\n"))
            }
            try await hub.close()
        }

        @Test func `a header of 16,384 bytes is read, and a longer one is refused`() {
            let routes = HealthRoutes()
            func request(_ length: Int) -> HTTPRequest {
                HTTPRequest(
                    method: "GET", target: Array("/live".utf8),
                    header: [(name: "x", value: String(repeating: "a", count: length))])
            }
            let rest = 16_384 - request(0).headerLength
            #expect(routes.refusal(of: request(rest))?.status == nil)
            #expect(routes.refusal(of: request(rest + 1))?.status == 431)
        }

        @Test func `a request with a body is refused`() {
            let routes = HealthRoutes()
            func status(_ header: [(name: String, value: String)]) -> Int? {
                let request = HTTPRequest(
                    method: "GET", target: Array("/live".utf8), header: header)
                return routes.refusal(of: request)?.status
            }
            #expect(status([]) == nil)
            #expect(status([("Content-Length", "0")]) == nil)
            #expect(status([("Content-Length", "1")]) == 413)
            #expect(status([("Transfer-Encoding", "chunked")]) == 413)
        }

        @Test func `each refusal names what is right, and ends the connection`() {
            let routes = HealthRoutes()
            func answer(_ method: String, _ target: String, length: Int = 0) -> [String] {
                let request = HTTPRequest(
                    method: method, target: Array(target.utf8),
                    header: [(name: "Content-Length", value: "\(length)")])
                guard let response = routes.refusal(of: request) else { return [] }
                var lines = ["\(response.status) \(response.contentType)"]
                if case .bytes(let bytes) = response.body {
                    lines.append(String(decoding: bytes, as: UTF8.self))
                }
                return lines + response.fields.map { "\($0.name): \($0.value)" }
            }
            let type = "text/plain; charset=utf-8"
            for path in ["/live", "/ready", "/metrics"] {
                for method in ["GET", "HEAD"] { #expect(answer(method, path) == []) }
                let lines = [
                    "405 \(type)", "the method of \(path) is GET\n", "Connection: close",
                    "Allow: GET, HEAD",
                ]
                #expect(answer("POST", path, length: 1) == lines)
                #expect(
                    answer("GET", path, length: 1) == [
                        "413 \(type)", "the request has a body, and none is expected\n",
                        "Connection: close",
                    ])
            }
            for path in ["/", "/live/", "/liv"] {
                #expect(
                    answer("POST", path, length: 1) == [
                        "404 \(type)", "the paths are /live, /ready and /metrics\n",
                        "Connection: close",
                    ])
            }
            let long = HTTPRequest(
                method: "POST", target: Array("/".utf8),
                header: [(name: "x", value: String(repeating: "a", count: 20_000))])
            #expect(routes.refusal(of: long)?.status == 431)
        }

        @Test func `256 clients are served at a time, for 2 s each`() {
            #expect(HealthServer.connections == 256)
            #expect(HealthServer.seconds == 2)
        }

        @Test func `an address that is not numeric is refused`() async throws {
            let scene = HubScene()
            let error = await #expect(throws: HubError.self) {
                try await scene.hub(options: HubOptions(healthAddress: "hub.example"))
            }
            #expect(error?.message.contains("'hub.example': it is not a numeric address") == true)
        }

        private struct Answer: Equatable {
            let status: Int
            let text: String

            init(_ status: Int, _ text: String) {
                (self.status, self.text) = (status, text)
            }
        }

        private func get(
            _ path: String, _ port: UInt16, method: String = "GET"
        ) throws -> Answer {
            let connection = try LoopbackConnection(port: port)
            let length = method == "POST" ? "Content-Length: 0\r\n" : ""
            let request =
                "\(method) \(path) HTTP/1.1\r\nHost: x\r\n\(length)Connection: close\r\n\r\n"
            #expect(connection.send(Array(request.utf8)))
            var bytes: [UInt8] = []
            while case let part = try connection.receive(), !part.isEmpty { bytes += part }
            let text = String(decoding: bytes, as: UTF8.self)
            let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
            let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return Answer(status, parts.count > 1 ? String(parts[1]) : "")
        }
    }
#endif
