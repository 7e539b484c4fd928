import SheafDocument
import SheafInspector
import Testing

extension InspectorTests {
    /// Hostile requests for the data of an inspector.
    @Suite(.serialized) struct AccessTests {
        @Test func `a request needs the token, completely and without a prefix`() async throws {
            let fixture = try await InspectorFixture()
            #expect(fixture.token.count == 64)
            for path in ["/", "/app.js", "/about", "/changes", "/metrics"] {
                #expect(fixture.response("GET", path, hasToken: false)?.status == 401)
            }
            #expect(fixture.response("POST", "/query", body: "{}", hasToken: false)?.status == 401)
            let token = fixture.token
            let other = String(repeating: token.hasPrefix("0") ? "1" : "0", count: 64)
            for wrong in [
                "", "x", String(token.dropLast()), token + "0", other, token.uppercased(),
            ]
            where wrong != token {
                let header = ["Authorization: Bearer \(wrong)"]
                #expect(fixture.response("GET", "/about", header, hasToken: false)?.status == 401)
                let cookie = ["Cookie: sheaf-\(fixture.port)=\(wrong)"]
                #expect(fixture.response("GET", "/about", cookie, hasToken: false)?.status == 401)
                let entry = fixture.response("GET", "/?token=\(wrong)", hasToken: false)
                #expect(entry?.status == 401)
            }
            let both = ["Authorization: Bearer x", "Cookie: sheaf-\(fixture.port)=\(token)"]
            #expect(fixture.response("GET", "/about", both, hasToken: false)?.status == 401)
            #expect(fixture.response("GET", "/about")?.status == 200)
            await fixture.inspector.stop()
        }

        @Test func `the URL of the inspector sets a cookie with which the page is answered`()
            async throws
        {
            let fixture = try await InspectorFixture()
            let entry = try #require(
                fixture.response("GET", "/?token=\(fixture.token)", hasToken: false))
            #expect(entry.status == 303 && entry.header["location"] == "/")
            let cookie = try #require(entry.header["set-cookie"])
            let pair = "sheaf-\(fixture.port)=\(fixture.token)"
            #expect(cookie == pair + "; HttpOnly; SameSite=Strict; Path=/")
            let header = ["Cookie: other=1; \(pair)"]
            let page = try #require(fixture.response("GET", "/", header, hasToken: false))
            #expect(page.status == 200 && page.header["content-type"] == "text/html; charset=utf-8")
            // The cookie of an earlier inspector does not prevent the redirection.
            let old = ["Cookie: sheaf-\(fixture.port)=\(String(repeating: "0", count: 64))"]
            let again = fixture.response("GET", "/?token=\(fixture.token)", old, hasToken: false)
            #expect(again?.status == 303)
            await fixture.inspector.stop()
        }

        @Test func `a foreign Host is refused, so that DNS rebinding fails`()
            async throws
        {
            let fixture = try await InspectorFixture()
            let port = fixture.port
            for host in [
                "example.org", "example.org:\(port)", "127.0.0.1", "127.0.0.1:\(port - 1)", "",
                "127.0.0.1:\(port).example.org", "localhost.example.org:\(port)",
                "127.0.0.1.example.org:\(port)", "example.org.127.0.0.1:\(port)",
                "127.0.0.2:\(port)",
            ] {
                #expect(fixture.response("GET", "/about", ["Host: \(host)"])?.status != 200)
            }
            for host in [
                "127.0.0.1:\(port)", "localhost:\(port)", "LOCALHOST:\(port)", "[::1]:\(port)",
            ] {
                #expect(fixture.response("GET", "/about", ["Host: \(host)"])?.status == 200)
            }
            let two = ["Host: 127.0.0.1:\(port)", "Host: example.org"]
            #expect(fixture.response("GET", "/about", two)?.status != 200)
            let client = RawClient(port: port)
            client.send("GET /about HTTP/1.0\r\nAuthorization: Bearer \(fixture.token)\r\n\r\n")
            #expect(RawResponse(from: client)?.status != 200)
            await fixture.inspector.stop()
        }

        @Test func `on all addresses, a numeric Host is accepted, and no other name`() async throws
        {
            let fixture = try await InspectorFixture(InspectorOptions(address: "0.0.0.0"))
            let port = fixture.port
            for host in ["10.0.0.1:\(port)", "[fe80::1]:\(port)", "localhost:\(port)"] {
                #expect(fixture.response("GET", "/about", ["Host: \(host)"])?.status == 200)
            }
            for host in [
                "example.org:\(port)", "127.0.0.1.example.org:\(port)", "10.0.0.1", "10.0.0.1:1",
                "fe80::1:\(port)", "[example.org]:\(port)", "10.0.0.1 :\(port)", "010.1:\(port)",
            ] {
                #expect(fixture.response("GET", "/about", ["Host: \(host)"])?.status != 200)
            }
            await fixture.inspector.stop()
        }

        @Test func `the URL of an address of IPv6 has its canonical form, as browsers send it`() {
            for (text, host) in [
                ("fd00:0:0:0:0:0:0:2", "[fd00::2]"), ("FD00::2", "[fd00::2]"),
                ("0:0:0:0:0:0:0:1", "[::1]"), ("2001:0DB8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]"),
                ("::", "[::]"), ("127.0.0.1", "127.0.0.1"), ("LocalHost", "127.0.0.1"),
            ] {
                #expect(ListeningAddress(text, port: 1)?.host == host)
            }
        }

        @Test func `a page of another origin is refused, even with the cookie`() async throws {
            let fixture = try await InspectorFixture(InspectorOptions(isWritable: true))
            let body = #"{"statement": "INSERT INTO cars DOCUMENTS ({'_id': 1})"}"#
            for origin in [
                "http://example.org", "https://\(fixture.host)", "null", "http://localhost:1",
                "http://\(fixture.host).example.org", "http://127.0.0.1", "",
            ] {
                let header = ["Origin: \(origin)"]
                #expect(fixture.response("GET", "/about", header)?.status == 403)
                #expect(fixture.response("POST", "/query", header, body: body)?.status == 403)
            }
            #expect(try fixture.query("SELECT * FROM cars").1["rows"] == [])
            let own = ["Origin: http://\(fixture.host)"]
            #expect(fixture.response("POST", "/query", own, body: body)?.status == 200)
            await fixture.inspector.stop()
        }

        @Test func `other paths, methods and types of bodies are refused`() async throws {
            let fixture = try await InspectorFixture()
            for path in [
                "/other", "/index.html/", "/../etc/passwd", "/%2e%2e/secret", "//", "/app.js/x",
            ] {
                #expect(fixture.response("GET", path)?.status == 404)
            }
            #expect(fixture.response("GET", "/%zz")?.status == 400)
            #expect(fixture.response("GET", "/about?x=%ff")?.status == 400)
            for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "POST"] {
                let response = fixture.response(method, "/about", body: "{}")
                #expect(response?.status == 405 && response?.header["allow"] == "GET")
            }
            let response = fixture.response("GET", "/query")
            #expect(response?.status == 405 && response?.header["allow"] == "POST")
            for type in [
                "text/plain", "application/x-www-form-urlencoded", "", "application/jsonp",
            ] {
                let header = ["Content-Type: \(type)"]
                #expect(fixture.response("POST", "/query", header, body: "{}")?.status == 415)
            }
            let type = ["Content-Type: application/json; charset=utf-8"]
            let body = #"{"statement": "SELECT 1 FROM system:dual"}"#
            #expect(fixture.response("POST", "/query", type, body: body)?.status == 200)
            await fixture.inspector.stop()
        }

        @Test func `a URL that is not UTF-8 is refused, after its token was checked`() async throws
        {
            let fixture = try await InspectorFixture()
            for target in ["/%zz", "/about?x=%ff", "/about?x=%"] {
                #expect(fixture.response("GET", target)?.status == 400)
                #expect(fixture.response("GET", target, hasToken: false)?.status == 401)
            }
            #expect(fixture.response("GET", "/?token=\(fixture.token)&x=%zz")?.status == 400)
            #expect(fixture.response("GET", "/other?x=%zz", hasToken: false)?.status == 404)
            for target in ["/?", "/about?x=?"] {
                let client = RawClient(port: fixture.port)
                let request = fixture.request("GET", target)
                // The last question mark becomes a byte that UTF-8 never has.
                var bytes = Array(request.utf8)
                bytes["GET ".utf8.count + target.utf8.count - 1] = 0xFF
                client.send(bytes)
                #expect(RawResponse(from: client)?.status == 400, "\(target)")
            }
            await fixture.inspector.stop()
        }

        @Test func `every answer has the headers that confine a page`() async throws {
            let fixture = try await InspectorFixture()
            let policy =
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            for (path, hasToken) in [
                ("/", true), ("/about", true), ("/about", false), ("/x", true),
            ] {
                let header = try #require(fixture.response("GET", path, hasToken: hasToken)).header
                #expect(header["x-content-type-options"] == "nosniff")
                #expect(header["referrer-policy"] == "no-referrer")
                #expect(header["cache-control"] == "no-store")
                #expect(header["content-security-policy"] == policy)
                #expect(header["access-control-allow-origin"] == nil)
            }
            await fixture.inspector.stop()
        }
    }
}
