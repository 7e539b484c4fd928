import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import SheafSystem
import SheafTestSupport
import Testing

extension InspectorTests {
    /// The errors of requests, with their exact texts.
    @Suite(.serialized) struct RefusalTests {
        /// Returns the fields of an error; none if the answer is no error.
        private func error(_ body: [UInt8]) throws -> Object {
            guard case .object(let answer) = try Value(jsonBytes: body),
                case .object(let error)? = answer["error"]
            else { return Object() }
            return error
        }

        private static let long = String(repeating: "x", count: 33 << 10)
        private static let field = "X-Long: \(long)"
        private static let type = "Content-Type: text/plain"
        private static let types = [type, "Content-Type: text/html"]
        private static let chunked = "Transfer-Encoding: chunked"
        private static let both = types + [chunked]
        private static let much = "Content-Length: 1048577"

        /// Requests, each of which the later reasons forbid, too, as far as they can.
        private static let refused:
            [(
                method: String, target: String, header: [String], hasToken: Bool, status: Int,
                message: String
            )] = [
                (
                    "PUT", "/other?x=%zz", ["Host: example.org", field], false, 403,
                    "the Host of the request is not that of the inspector"
                ),
                (
                    "PUT", "/other?x=\(long)", [], false, 414,
                    "the URL of the request has more than 32768 bytes"
                ),
                (
                    "PUT", "/other?x=%zz", [field], false, 431,
                    "the request line and the header have more than 32768 bytes"
                ),
                ("PUT", "/other?x=%zz", types, false, 404, "there is no path '/other'"),
                (
                    "PUT", "/query?x=%zz", types, false, 405,
                    "the path /query has no method PUT"
                ),
                ("POST", "/query?x=%zz", types, false, 401, "the request has no token"),
                (
                    "POST", "/query?x=%zz", both, true, 400,
                    "the URL of the request has an invalid escape, or is not UTF-8"
                ),
                (
                    "POST", "/query", both, true, 400,
                    "the request has several headers Content-Type"
                ),
                (
                    "POST", "/query", [type, chunked], true, 411,
                    "the length of the body is not known in advance"
                ),
                (
                    "POST", "/query", [type, much], true, 413,
                    "the body has more than 1048576 bytes"
                ),
                ("GET", "/about", [much], true, 413, "the body has more than 1048576 bytes"),
                ("POST", "/query", [type], true, 411, "the header Content-Length is missing"),
                (
                    "POST", "/query", [type, "Content-Length: 0"], true, 415,
                    "the Content-Type of the request is not application/json"
                ),
            ]

        @Test func `of several reasons to refuse a request, the first one in the table decides`()
            async throws
        {
            let fixture = try await InspectorFixture()
            for (method, target, header, hasToken, status, message) in Self.refused {
                let response = try #require(
                    fixture.response(method, target, header, hasToken: hasToken))
                #expect(response.status == status, "\(message)")
                #expect(try error(response.body)["message"] == .string(message))
            }
            let other = try #require(fixture.response("DELETE", "/query"))
            #expect(try error(other.body)["hint"] == "its method is POST")
            await fixture.inspector.stop()
        }

        @Test func `a body with a wrong field is refused with the name of the field`() async throws
        {
            let fixture = try await InspectorFixture()
            let (start, limit) = (
                "the body of the request ",
                "the field 'limit' of the request is not an integer from 0 to 10000"
            )
            let bodies: [(path: String, body: String, message: String, hint: Value?)] = [
                ("/query", "[]", "\(start)is not a JSON object", nil),
                ("/query", "{}", "\(start)has no field 'statement'", nil),
                (
                    "/query", #"{"statment": ""}"#, "\(start)has an unknown field 'statment'",
                    "its fields are statement, arguments, limit"
                ),
                (
                    "/query", #"{"statement": 1}"#,
                    "the field 'statement' of the request is not a string", nil
                ),
                (
                    "/query", #"{"statement": "", "arguments": []}"#,
                    "the field 'arguments' of the request is not an object", nil
                ),
                ("/query", #"{"statement": "", "limit": -1}"#, limit, nil),
                ("/query", #"{"statement": "", "limit": 10001}"#, limit, nil),
                ("/query", #"{"statement": "", "limit": "1"}"#, limit, nil),
                (
                    "/complete", #"{"before": 1, "after": ""}"#,
                    "the field 'before' of the request is not a string", nil
                ),
                ("/complete", #"{"before": ""}"#, "\(start)has no field 'after'", nil),
                (
                    "/complete", #"{"statement": ""}"#, "\(start)has an unknown field 'statement'",
                    "its fields are before, after"
                ),
            ]
            for (path, body, message, hint) in bodies {
                let response = try #require(fixture.response("POST", path, body: body))
                #expect(response.status == 400, "\(body)")
                let found = try error(response.body)
                #expect(found["message"] == .string(message) && found["hint"] == hint, "\(body)")
            }
            let broken = try #require(fixture.response("POST", "/query", body: "{"))
            guard case .string(let text)? = try error(broken.body)["message"] else {
                Issue.record("The error has no message.")
                return
            }
            #expect(broken.status == 400 && text.hasPrefix("\(start)is not JSON: "))
            await fixture.inspector.stop()
        }

        @Test func `changes begin after a commit that exists`() async throws {
            let fixture = try await InspectorFixture()
            try await fixture.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            let requests: [(target: String, header: [String], message: String)] = [
                ("?since=2", [], "there is no commit 2 yet; the newest is 1"),
                ("?since=x", [], "'since' is not the number of a commit: 'x'"),
                ("?since=0", ["Last-Event-ID: 3"], "there is no commit 3 yet; the newest is 1"),
                (
                    "?since=0", ["Last-Event-ID: y"],
                    "'Last-Event-ID' is not the number of a commit: 'y'"
                ),
            ]
            for (target, header, message) in requests {
                let response = try #require(
                    fixture.response("GET", "/changes" + target, header))
                #expect(response.status == 400)
                let found = try error(response.body)
                #expect(found["message"] == .string(message))
                let hint: Value? =
                    message.hasPrefix("there")
                    ? "without 'since', the changes begin after the newest commit" : nil
                #expect(found["hint"] == hint)
            }
            let newest = EventClient(fixture, "/changes?since=1")
            #expect(newest.status == 200 && newest.next()?.id == 1)
            await fixture.inspector.stop()
        }

        @Test func `a reading inspector runs statements that only read, advise or show`()
            async throws
        {
            let fixture = try await InspectorFixture()
            for statement in [
                "SELECT * FROM cars", "EXPLAIN SELECT * FROM cars", "ADVISE SELECT * FROM cars",
                "SHOW dql_strict_mode",
            ] {
                #expect(try fixture.query(statement).0 == 200, "\(statement)")
            }
            let body = #"{"statement": "DELETE FROM cars"}"#
            let refused = try #require(fixture.response("POST", "/query", body: body))
            #expect(
                try error(refused.body) == [
                    "message": "the inspector was started for reading only",
                    "hint": .string(
                        "'sheaf inspect --write', or isWritable in the options, permits statements "
                            + "that write"),
                ])
            await fixture.inspector.stop()
        }

        @Test func `an inspector that cannot start says why`() async throws {
            let directory = TemporaryDirectory()
            let writer = try await Store.open(at: directory.path("store"))
            let reader = try await Store.open(
                at: directory.path("store"), options: StoreOptions(isReadOnly: true))
            let reading = try await Inspector.start(reader)
            let noAddress =
                "the inspector cannot listen on 'example.org': it is not a numeric address, such "
                + "as 127.0.0.1 or ::1"
            let errors: [(port: UInt16, options: InspectorOptions, message: String)] = [
                (
                    0, InspectorOptions(address: "example.org"), noAddress
                ),
                (
                    0, InspectorOptions(isWritable: true),
                    "the inspector cannot write: the store was opened for reading only"
                ),
                (
                    reading.port, InspectorOptions(),
                    "the server cannot listen on 127.0.0.1:\(reading.port): Address already in use"
                ),
            ]
            for (port, options, message) in errors {
                let error = await #expect(throws: InspectorError.self) {
                    try await Inspector.start(reader, port: port, options: options)
                }
                #expect(error?.message == message)
                #expect(error?.description == message)
            }
            await reading.stop()
            try await reader.close()
            try await writer.close()
        }
    }
}
