import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import Testing

extension InspectorTests {
    /// The completion of statements by an inspector.
    @Suite(.serialized) struct CompletionTests {
        private func words(
            _ fixture: InspectorFixture, _ before: String, _ after: String = ""
        ) throws -> (prefix: String, words: [String]) {
            let body: Object = ["before": .string(before), "after": .string(after)]
            let (status, answer) = try fixture.object(
                "POST", "/complete", body: Value.object(body).json)
            #expect(status == 200)
            guard case .string(let prefix)? = answer["prefix"],
                case .array(let values)? = answer["words"]
            else { return ("no answer", []) }
            return (
                prefix, values.compactMap { if case .string(let word) = $0 { word } else { nil } }
            )
        }

        @Test func `words complete a statement before and after the cursor`() async throws {
            let fixture = try await InspectorFixture()
            try await fixture.store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 1, 'mileage': 5, 'engine': {'power': 60}})")
            try await fixture.store.execute("INSERT INTO `two words` DOCUMENTS ({'_id': 1})")
            for (before, after, prefix, expected) in [
                ("SEL", "", "SEL", ["SELECT"]), ("sel", "", "sel", ["select"]),
                ("SELECT * FROM ca", "", "ca", ["cars"]), ("UPDATE CA", "", "CA", ["cars"]),
                ("SELECT * FROM cars WHERE mil", "", "mil", ["mileage"]),
                ("SELECT mil", " FROM cars", "mil", ["mileage"]),
                ("SELECT * FROM cars WHERE engine.p", "", "p", ["power"]),
                ("SELECT * FROM tw", "", "tw", ["`two words`"]),
                ("SELECT * FROM system:pres", "", "pres", ["presence"]),
                ("SELECT * FROM cars WHERE model = 'mil", "", "", []),
            ] {
                let answer = try words(fixture, before, after)
                #expect(answer.words == expected, "\(before)")
                if !expected.isEmpty { #expect(answer.prefix == prefix, "\(before)") }
            }
            #expect(
                try words(fixture, "SELECT * FROM cars WHERE col").words.contains("color") == false)
            try await fixture.store.execute("UPDATE cars SET color = 'red' WHERE _id = 1")
            #expect(try words(fixture, "SELECT * FROM cars WHERE col").words.contains("color"))
            await fixture.inspector.stop()
        }

        @Test func `at most 100 words are returned`() async throws {
            let fixture = try await InspectorFixture()
            for count in [99, 100, 101, 150] {
                let fields = (0..<count).map { "'field\($0)': 1" }.joined(separator: ", ")
                try await fixture.store.execute(
                    DQL(verbatim: "INSERT INTO cars\(count) DOCUMENTS ({'_id': 1, \(fields)})"))
                let found = try words(fixture, "SELECT * FROM cars\(count) WHERE field").words
                #expect(found.count == min(count, 100))
                #expect(found.allSatisfy { $0.hasPrefix("field") })
            }
            await fixture.inspector.stop()
        }

        @Test func `a statement to complete has at most 1 MiB, before and after the cursor`()
            async throws
        {
            var options = InspectorOptions()
            options.limits.bodyBytes = 2 << 20
            let fixture = try await InspectorFixture(options)
            let start = "SELECT '"
            let before = start + String(repeating: "x", count: 1_048_576 - start.utf8.count)
            let found = try words(fixture, before)
            #expect(found.words == [])
            let body: Object = ["before": .string(before), "after": "x"]
            let (status, answer) = try fixture.object(
                "POST", "/complete", body: Value.object(body).json)
            #expect(status == 400)
            #expect(
                answer == ["error": ["message": "the statement has more than 1048576 bytes"]])
            await fixture.inspector.stop()
        }

        @Test func `a request for words without its two texts is refused`() async throws {
            let fixture = try await InspectorFixture()
            for body in [
                "{}", #"{"before": "SEL"}"#, #"{"before": 1, "after": ""}"#, "[]", "{",
                #"{"before": "", "after": "", "text": ""}"#,
            ] {
                let response = fixture.response("POST", "/complete", body: body)
                #expect(response?.status == 400, "\(body)")
            }
            let get = fixture.response("GET", "/complete")
            #expect(get?.status == 405 && get?.header["allow"] == "POST")
            #expect(
                fixture.response("POST", "/complete", body: "{}", hasToken: false)?.status == 401)
            await fixture.inspector.stop()
        }
    }
}
