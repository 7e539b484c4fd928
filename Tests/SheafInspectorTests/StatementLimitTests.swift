import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import Testing

extension InspectorTests {
    /// Statements that run for long.
    @Suite(.serialized) struct StatementLimitTests {
        /// A statement that takes minutes: each condition builds a text of 1 MB for each document.
        private static let slow: String = {
            let conditions = (1...20).map { "char_length(repeat(text, 500000)) = -\($0)" }
            return "SELECT * FROM cars WHERE " + conditions.joined(separator: " OR ")
        }()

        private func slowFixture(seconds: Int) async throws -> InspectorFixture {
            var options = InspectorOptions()
            options.statementSeconds = seconds
            let fixture = try await InspectorFixture(options)
            let documents = (0..<2_000).map { "({'_id': \($0), 'text': 'ab'})" }
            try await fixture.store.execute(
                DQL(verbatim: "INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", ")))
            return fixture
        }

        /// Begins slow statements, each on a connection of its own.
        private func begin(_ count: Int, _ fixture: InspectorFixture) -> [RawClient] {
            let body = Value.object(["statement": .string(Self.slow)]).json
            return (0..<count).map { _ in
                let client = RawClient(port: fixture.port)
                client.send(fixture.request("POST", "/query", body: body))
                return client
            }
        }

        @Test func `a statement is canceled when its time is over`() async throws {
            let fixture = try await slowFixture(seconds: 1)
            let begin = ContinuousClock.now
            let (status, answer) = try fixture.query(Self.slow)
            // Other tests share the threads on which the statement runs, so it may end much later.
            #expect(ContinuousClock.now - begin >= .seconds(1))
            guard case .object(let error)? = answer["error"] else { return #expect(Bool(false)) }
            #expect(status == 400)
            #expect(
                error["message"]
                    == "the statement exceeded the time limit of the inspector of 1 s")
            #expect(try fixture.query("SELECT COUNT(*) AS n FROM cars").1["rows"] == [["n": 2_000]])
            await fixture.inspector.stop()
        }

        @Test func `more slow statements than threads are canceled, also while they wait`()
            async throws
        {
            let fixture = try await slowFixture(seconds: 1)
            let clients = begin(30, fixture)
            #expect(try #require(fixture.response("GET", "/about")).status == 200)
            #expect(try #require(fixture.response("GET", "/metrics")).status == 200)
            var refused = 0
            for client in clients {
                let response = try #require(RawResponse(from: client))
                let isRefused = response.status == 503
                if isRefused { refused += 1 } else { #expect(response.status == 400) }
                let message =
                    isRefused
                    ? "other statements occupied the inspector for 1 s"
                    : "exceeded the time limit of the inspector of 1 s"
                #expect(response.text.contains(message))
            }
            // Each statement has the same second, and three of them occupy it.
            #expect((1...27).contains(refused))
            #expect(try fixture.query("SELECT COUNT(*) AS n FROM cars").1["rows"] == [["n": 2_000]])
            await fixture.inspector.stop()
        }

        @Test func `slow statements leave a thread to other requests, and end with the inspector`()
            async throws
        {
            let fixture = try await slowFixture(seconds: 600)
            let clients = begin(6, fixture)
            for _ in 0..<10 {
                #expect(try #require(fixture.response("GET", "/about")).status == 200)
                let body = #"{"before": "SEL", "after": ""}"#
                let words = try #require(fixture.response("POST", "/complete", body: body))
                #expect(words.status == 200)
            }
            await fixture.inspector.stop()
            for client in clients { #expect(RawResponse(from: client)?.status != 200) }
        }
    }
}
