import SheafInspector
import SheafTestSupport
import Testing

extension InspectorTests {
    /// Requests that are too large, too slow or no requests at all.
    @Suite(.serialized) struct LimitTests {
        @Test func `a body of 1 GiB is refused before it arrives`() async throws {
            let fixture = try await InspectorFixture()
            let start =
                "POST /query HTTP/1.1\r\nHost: \(fixture.host)\r\n"
                + "Authorization: Bearer \(fixture.token)\r\nContent-Type: application/json\r\n"
            let declared = RawClient(port: fixture.port)
            declared.send(start + "Content-Length: \(1 << 30)\r\n\r\n{")
            #expect(RawResponse(from: declared)?.status == 413)
            #expect(declared.isAtEnd)
            let huge = RawClient(port: fixture.port)
            huge.send(start + "Content-Length: 99999999999999999999\r\n\r\n{")
            #expect(RawResponse(from: huge)?.status != 200)
            let chunked = RawClient(port: fixture.port)
            chunked.send(start + "Transfer-Encoding: chunked\r\n\r\n40000000\r\n{")
            #expect(RawResponse(from: chunked)?.status == 411)
            #expect(chunked.isAtEnd)
            // Without the token, too.
            let foreign = RawClient(port: fixture.port)
            foreign.send("POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: \(1 << 30)\r\n\r\n{")
            #expect(RawResponse(from: foreign)?.status == 403)
            #expect(foreign.isAtEnd)
            await fixture.inspector.stop()
        }

        @Test func `a chunked body is refused, also for a path that awaits none`() async throws {
            let fixture = try await InspectorFixture()
            let chunked = ["Transfer-Encoding: chunked"]
            for target in ["/about", "/", "/app.js", "/changes", "/explain", "/metrics"] {
                for body in ["0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "40000000\r\n{"] {
                    let client = RawClient(port: fixture.port)
                    // The bytes after the header must not be taken for a further request.
                    client.send(
                        fixture.request("GET", target, chunked) + body
                            + fixture.request("GET", "/about"))
                    #expect(RawResponse(from: client)?.status == 411, "\(target)")
                    #expect(RawResponse(from: client) == nil, "\(target)")
                }
            }
            // Two lengths of one body, of which the server could take the other one.
            let both = fixture.response("GET", "/about", chunked, body: "{}")
            #expect(both?.status == 411 || both?.status == 400)
            await fixture.inspector.stop()
        }

        @Test func `a body of exactly 1 MiB is accepted, and one more byte is not`() async throws {
            let fixture = try await InspectorFixture()
            let start = #"{"statement": "SELECT 1 FROM system:dual"#
            let padding = String(repeating: " ", count: 1 << 20 - start.utf8.count - 2)
            let body = start + padding + #""}"#
            #expect(body.utf8.count == 1 << 20)
            #expect(fixture.response("POST", "/query", body: body)?.status == 200)
            #expect(fixture.response("POST", "/query", body: body + " ")?.status == 413)
            await fixture.inspector.stop()
        }

        @Test func `a header of more than 32 KiB is refused`() async throws {
            let fixture = try await InspectorFixture()
            for length in [33 << 10, 60 << 10, 1 << 20] {
                let client = RawClient(port: fixture.port)
                client.send(
                    fixture.request(
                        "GET", "/about", ["X-Long: " + String(repeating: "x", count: length)])
                )
                let status = RawResponse(from: client)?.status
                #expect(status == 431 || status == 413 || status == nil)
            }
            let client = RawClient(port: fixture.port)
            client.send(fixture.request("GET", "/about?" + String(repeating: "x", count: 1 << 20)))
            let status = RawResponse(from: client)?.status
            #expect(status == 414 || status == nil)
            #expect(fixture.response("GET", "/about")?.status == 200)
            await fixture.inspector.stop()
        }

        @Test func `the limit of 32 KiB counts the request line, too`() async throws {
            let fixture = try await InspectorFixture()
            func client(_ targetLength: Int, _ valueLength: Int) -> RawClient {
                let client = RawClient(port: fixture.port)
                let target = "/about?" + String(repeating: "x", count: targetLength)
                let field = "X-Long: " + String(repeating: "x", count: valueLength)
                client.send(fixture.request("GET", target, [field]))
                return client
            }
            #expect(RawResponse(from: client(15 << 10, 15 << 10))?.status == 200)
            let both = client(20 << 10, 20 << 10)
            #expect(RawResponse(from: both)?.status == 431)
            #expect(both.isAtEnd)
            let target = client(33 << 10, 1)
            #expect(RawResponse(from: target)?.status == 414)
            #expect(target.isAtEnd)
            await fixture.inspector.stop()
        }

        @Test func `the limits of an inspector have their documented defaults`() {
            let limits = ServerLimits()
            #expect(limits.connections == 64 && limits.seconds == 10)
            #expect(limits.headerBytes == 32_768 && limits.bodyBytes == 1_048_576)
            #expect(limits.silenceSeconds == 2)
            #expect(InspectorOptions().statementSeconds == 30)
        }

        @Test func `a request line and a header of exactly 32 KiB are accepted`() async throws {
            let fixture = try await InspectorFixture()
            // The empty line after the header does not count.
            let rest = fixture.request("GET", "/about", ["X-Long: "]).utf8.count - 2
            for (length, status) in [(32_768, 200), (32_769, 431)] {
                let field = "X-Long: " + String(repeating: "x", count: length - rest)
                #expect(fixture.response("GET", "/about", [field])?.status == status)
            }
            await fixture.inspector.stop()
        }

        @Test func `a request whose header programs may understand differently is refused`()
            async throws
        {
            let fixture = try await InspectorFixture()
            let body = #"{"statement": "SELECT 1 FROM system:dual"}"#
            let length = "Content-Length: \(body.utf8.count)"
            let type = "Content-Type: application/json"
            for fields in [
                [length, length, type], [length, "Content-Length: 5", type],
                ["Content-Length: 5", length, type], [length, type, type],
                [length, type, "Content-Type: text/plain"],
                [length, "Content-Type: text/plain", type],
                [length, type, "Transfer-Encoding : chunked"],
                [length, type, "Host\u{E4}: example.org"],
            ] {
                let client = RawClient(port: fixture.port)
                client.send(fixture.request("POST", "/query", fields) + body)
                #expect(RawResponse(from: client)?.status == 400, "\(fields)")
                #expect(client.isAtEnd, "\(fields)")
            }
            await fixture.inspector.stop()
        }

        @Test func `a request with many parameters and cookies is answered`() async throws {
            let fixture = try await InspectorFixture()
            let parameters = (0..<1_000).map { "a\($0)=1" }.joined(separator: "&")
            #expect(fixture.response("GET", "/about?" + parameters)?.status == 200)
            let cookies = (0..<1_000).map { "a\($0)=1" }.joined(separator: "; ")
            #expect(fixture.response("GET", "/about", ["Cookie: " + cookies])?.status == 200)
            await fixture.inspector.stop()
        }

        @Test func `connections that send no complete request are closed for others`() async throws
        {
            var options = InspectorOptions()
            options.limits.seconds = 1
            options.limits.connections = 16
            let fixture = try await InspectorFixture(options)
            let silent = (0..<32).map { _ in RawClient(port: fixture.port) }
            for (number, client) in silent.enumerated() where number % 2 == 1 {
                client.send("GET /about HTTP/1.1\r\nHost: ")
            }
            #expect(fixture.response("GET", "/about")?.status == 200)
            for client in silent { #expect(client.isAtEnd) }
            await fixture.inspector.stop()
        }

        @Test func `connections beyond the maximum wait until another one ends`() async throws {
            var options = InspectorOptions()
            options.limits.connections = 3
            let fixture = try await InspectorFixture(options)
            let request = fixture.request("GET", "/about")
            var clients = (0..<3).map { _ in RawClient(port: fixture.port) }
            for client in clients {
                client.send(request)
                #expect(RawResponse(from: client)?.status == 200)
            }
            let late = RawClient(port: fixture.port)
            late.send(request)
            for client in clients {
                client.send(request)
                #expect(RawResponse(from: client)?.status == 200)
            }
            #expect(late.isQuiet)
            clients.removeFirst()
            #expect(RawResponse(from: late)?.status == 200)
            await fixture.inspector.stop()
        }

        @Test func `a request that arrives byte by byte does not occupy its connection`()
            async throws
        {
            var options = InspectorOptions()
            options.limits.seconds = 1
            let fixture = try await InspectorFixture(options)
            let client = RawClient(port: fixture.port)
            client.send("GET /about HTTP/1.1\r\nX: ")
            // Each byte is sent when another request was answered, so never together.
            var count = 0
            while client.send("x") {
                #expect(fixture.response("GET", "/about")?.status == 200)
                count += 1
            }
            #expect(count > 0)
            await fixture.inspector.stop()
        }

        @Test func `requests on one connection are answered in order`() async throws {
            let fixture = try await InspectorFixture()
            let client = RawClient(port: fixture.port)
            let bodies = (0..<20).map { #"{"statement": "SELECT \#($0) AS n FROM system:dual"}"# }
            client.send(bodies.map { fixture.request("POST", "/query", body: $0) }.joined())
            for number in 0..<20 {
                let response = try #require(RawResponse(from: client))
                #expect(response.text.hasPrefix(#"{"rows":[{"n":\#(number)}]"#))
            }
            await fixture.inspector.stop()
        }

        @Test func `bytes that are no request close their connection alone`() async throws {
            var options = InspectorOptions()
            options.limits.seconds = 1
            let fixture = try await InspectorFixture(options)
            let seed = UInt64.random(in: 0..<1_000_000_000)
            print("bytes that are no request, seed \(seed)")
            var random = SeededRandom(seed: seed, "bytes")
            var clients: [RawClient] = []
            for start in ["", "GET ", "GET /about HTTP/1.1\r\nHost: \(fixture.host)\r\n", "\0\0"] {
                for _ in 0..<12 {
                    let client = RawClient(port: fixture.port)
                    client.send(Array(start.utf8))
                    client.send((0..<200).map { _ in UInt8.random(in: 0...255, using: &random) })
                    client.send("\r\n\r\n")
                    clients.append(client)
                }
            }
            #expect(fixture.response("GET", "/about")?.status == 200)
            for client in clients { #expect(RawResponse(from: client)?.status != 200) }
            await fixture.inspector.stop()
        }
    }
}
