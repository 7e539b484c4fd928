import Sheaf
import SheafDocument
import SheafInspector
import SheafStatements
import SheafStore
import Testing

extension InspectorTests {
    /// Statements of an inspector.
    @Suite(.serialized) struct StatementTests {
        @Test func `a statement returns its rows, columns and commit`() async throws {
            let fixture = try await InspectorFixture()
            try await fixture.store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'speed': 5}), ({'_id': 'b', 'speed': 7})")
            let (status, answer) = try fixture.query(
                "SELECT speed FROM cars WHERE speed > :least", ["arguments": ["least": 5]])
            #expect(status == 200)
            #expect(answer["rows"] == [["speed": 7]])
            #expect(answer["columns"] == ["speed"])
            #expect(answer["isTruncated"] == false)
            #expect(answer["commit"] == 1)
            #expect(answer["changedIDs"] == [] && answer["notes"] == [])
            let names = answer.map { $0.name }.sorted()
            #expect(
                names == [
                    "changedIDs", "columns", "commit", "isTruncated", "milliseconds", "notes",
                    "rows",
                ])
            #expect(try fixture.query("SELECT * FROM cars").1["columns"] == .null)
            let notes = try fixture.query("SELECT * FROM cars WHERE sped = 1").1["notes"]
            #expect(notes == ["no document in cars has a field sped; did you mean speed?"])
            let plan = try fixture.query("EXPLAIN SELECT * FROM cars").1["rows"]
            guard case .array(let rows)? = plan else { return #expect(Bool(false)) }
            #expect(!rows.isEmpty)
            await fixture.inspector.stop()
        }

        @Test func `rows are limited by number and by length`() async throws {
            let fixture = try await InspectorFixture()
            try await fixture.insertCars(1_200)
            func count(_ statement: String, _ further: Object = Object()) throws -> (Int, Bool) {
                try fixture.count(statement, further)
            }
            #expect(try count("SELECT * FROM cars") == (1_000, true))
            #expect(try count("SELECT * FROM cars", ["limit": 5]) == (5, true))
            #expect(try count("SELECT * FROM cars", ["limit": 0]) == (0, true))
            #expect(try count("SELECT * FROM cars", ["limit": 1_200]) == (1_200, false))
            let long = String(repeating: "x", count: 900_000)
            for number in 0..<12 {
                try await fixture.store.execute(
                    "INSERT INTO long DOCUMENTS ({'_id': \(number), 'text': \(long)})")
            }
            #expect(try count("SELECT * FROM long") == (9, true))
            try await fixture.store.execute(
                "INSERT INTO longer DOCUMENTS ({'_id': 1, 'text': \(long + long)})")
            #expect(try count("SELECT * FROM longer") == (0, true))
            for limit in ["-1", "10001", "1.5", #""1""#, "null"] {
                let body = #"{"statement": "SELECT 1 FROM system:dual", "limit": \#(limit)}"#
                let response = fixture.response("POST", "/query", body: body)
                #expect(response?.status == 400 && response?.text.contains("'limit'") == true)
            }
            await fixture.inspector.stop()
        }

        @Test func `the rows of an answer reach each limit, and no more`() async throws {
            let fixture = try await InspectorFixture()
            try await fixture.insertCars(1_001)
            func count(_ statement: String, _ further: Object = Object()) throws -> (Int, Bool) {
                try fixture.count(statement, further)
            }
            #expect(try count("SELECT * FROM cars WHERE _id < 1000") == (1_000, false))
            #expect(try count("SELECT * FROM cars") == (1_000, true))
            #expect(try count("SELECT * FROM cars", ["limit": 1_001]) == (1_001, false))
            #expect(try count("SELECT * FROM cars", ["limit": 10_000]) == (1_001, false))
            // The name and the signs around a text have 11 bytes.
            for (id, length) in [(1, 1_048_576), (2, 1_048_577)] {
                let text = String(repeating: "x", count: length - 11)
                try await fixture.store.execute(
                    "INSERT INTO long DOCUMENTS ({'_id': \(id), 'text': \(text)})")
            }
            #expect(try count("SELECT text FROM long WHERE _id = 1") == (1, false))
            #expect(try count("SELECT text FROM long WHERE _id = 2") == (0, true))
            await fixture.inspector.stop()
        }

        @Test func `statements that change anything are refused unless writing is permitted`()
            async throws
        {
            let fixture = try await InspectorFixture()
            let writable = try await Inspector.start(
                fixture.store, options: InspectorOptions(isWritable: true))
            for statement in [
                "INSERT INTO cars DOCUMENTS ({'_id': 1})", "UPDATE cars SET a = 1",
                "DELETE FROM cars", "EVICT FROM cars", "PROFILE DELETE FROM cars",
                "CREATE INDEX i ON cars (a)", "DROP INDEX i ON cars",
                "ALTER SYSTEM SET dql_strict_mode = true",
            ] {
                let (status, answer) = try fixture.query(statement)
                #expect(status == 403, "\(statement)")
                #expect(answer["rows"] == nil && answer["error"] != nil)
            }
            #expect(try fixture.query("SELECT * FROM cars").1["commit"] == 0)
            #expect(
                try fixture.query("SHOW dql_strict_mode").1["rows"] == [["dql_strict_mode": false]])
            await fixture.inspector.stop()
            let other = InspectorFixture(fixture.store, writable)
            let (status, answer) = try other.query("INSERT INTO cars DOCUMENTS ({'_id': 'x'})")
            #expect(status == 200 && answer["changedIDs"] == ["x"] && answer["commit"] == 1)
            #expect(try other.query("CREATE INDEX i ON cars (a)").0 == 200)
            await writable.stop()
        }

        @Test func `a statement ends after the rows that are returned`() async throws {
            var options = InspectorOptions()
            options.statementSeconds = 5
            let fixture = try await InspectorFixture(options)
            let documents = (0..<2_000).map { "({'_id': \($0), 'g': 1})" }
            try await fixture.store.execute(
                DQL(verbatim: "INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", ")))
            try await fixture.store.execute("CREATE INDEX g ON cars (g)")
            // All rows of the join are eight thousand million, which take longer than allowed.
            let join =
                "SELECT a._id AS a FROM cars a JOIN cars b ON b.g = a.g JOIN cars c ON c.g = b.g"
            for (statement, limit) in [
                (join, 10), (join + " LIMIT 3", 10), ("SELECT * FROM cars", 7),
            ] {
                let body = Value.object([
                    "statement": .string(statement), "limit": .integer(Int64(limit)),
                ])
                let (status, answer) = try fixture.object("POST", "/query", body: body.json)
                guard case .array(let rows)? = answer["rows"] else { return #expect(Bool(false)) }
                let isCut = !statement.hasSuffix("LIMIT 3")
                #expect(status == 200 && rows.count == (isCut ? limit : 3))
                #expect(answer["isTruncated"] == .bool(isCut))
            }
            let sorted = try fixture.query("SELECT _id FROM cars ORDER BY _id DESC LIMIT 2").1
            #expect(sorted["rows"] == [["_id": 1_999], ["_id": 1_998]])
            await fixture.inspector.stop()
        }

        @Test func `an error has its position in the statement`() async throws {
            let fixture = try await InspectorFixture()
            let (status, answer) = try fixture.query("SELECT *\nFROM cars WERE a = 1")
            guard case .object(let error)? = answer["error"] else { return #expect(Bool(false)) }
            #expect(status == 400 && error["line"] == 2 && error["column"] == 11)
            #expect(error["length"] == 4 && error["message"] != nil)
            #expect(try fixture.query("SELECT * FROM cars WHERE a = :missing").0 == 400)
            for body in ["", "{", "[]", "{}", #"{"statement": 1}"#, #"{"statment": ""}"#, "\u{0}"] {
                #expect(fixture.response("POST", "/query", body: body)?.status == 400)
            }
            let deep = String(repeating: "[", count: 100_000)
            #expect(fixture.response("POST", "/query", body: deep)?.status == 400)
            await fixture.inspector.stop()
        }

        @Test func `HTML in values, names and errors stays text in JSON`() async throws {
            let fixture = try await InspectorFixture()
            let script = "<script>alert(1)</script>"
            try await fixture.store.execute(
                "INSERT INTO `<b>` DOCUMENTS ({'_id': \(script), '</script>': \(script)})")
            let (status, answer) = try fixture.query("SELECT * FROM `<b>`")
            #expect(status == 200)
            #expect(answer["rows"] == [["_id": .string(script), "</script>": .string(script)]])
            for statement in ["SELECT * FROM `<b>`", "<script>", "SELECT <img src=x> FROM a"] {
                let body = Value.object(["statement": .string(statement)]).json
                let response = try #require(fixture.response("POST", "/query", body: body))
                #expect(response.header["content-type"] == "application/json")
                #expect(response.header["x-content-type-options"] == "nosniff")
            }
            let path = try #require(fixture.response("GET", "/<script>alert(1)</script>"))
            #expect(path.header["content-type"] == "application/json")
            await fixture.inspector.stop()
        }

        @Test func `bytes are an object with Base64`() async throws {
            let fixture = try await InspectorFixture()
            let bytes = Value.bytes([0, 255, 16])
            try await fixture.store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 1, 'b': \(bytes)})")
            let rows = try fixture.query("SELECT b, [b] AS l FROM cars").1["rows"]
            let shown: Value = ["$bytes": "AP8Q"]
            #expect(rows == [["b": shown, "l": [shown]]])
            await fixture.inspector.stop()
        }

        @Test func `metrics have valid names and numbers`() async throws {
            let fixture = try await InspectorFixture()
            let response = try #require(fixture.response("GET", "/metrics"))
            #expect(response.header["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let lines = response.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(lines.contains { $0.hasPrefix("sheaf_requests ") })
            for line in lines {
                let words = line.split(separator: " ")
                #expect(words.count == 2 && Double(words[1]) != nil)
                #expect(words[0].utf8.allSatisfy { $0 == 0x5F || $0 >= 0x61 && $0 <= 0x7A })
            }
            await fixture.inspector.stop()
        }

        @Test func `names of metrics have no characters that would end a line`() async throws {
            let fixture = try await InspectorFixture()
            fixture.store.queries.registeredCollections.register("health") {
                [
                    ["_id": 1, "name": "a b\"{}\n#é9", "value": 1.5],
                    ["_id": 2, "name": "isTrue", "value": true],
                    ["_id": 3, "name": "text", "value": "no number"],
                    ["_id": 4, "name": "az/0:AZ@[`{", "value": false],
                    ["_id": 5, "value": 7_654_321],
                ]
            }
            fixture.store.queries.registeredCollections.register("hub") {
                [["_id": 1, "name": "shards", "value": 3]]
            }
            let text = try #require(fixture.response("GET", "/metrics")).text
            let lines = text.split(separator: "\n")
            #expect(lines.contains("sheaf_shards 3"))
            #expect(lines.contains("sheaf_a_b______9 1.5"))
            #expect(lines.contains("# TYPE sheaf_a_b______9 gauge"))
            #expect(lines.contains("sheaf_isTrue 1") && !text.contains("text"))
            #expect(lines.contains("sheaf_az_0_AZ____ 0") && !text.contains("7654321"))
            #expect(lines.contains("sheaf_commit 0"))
            await fixture.inspector.stop()
        }
    }
}

extension InspectorFixture {
    fileprivate func insertCars(_ count: Int) async throws {
        try await store.transaction { transaction in
            for number in 0..<count {
                try await transaction.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
            }
            return TransactionCompletion.commit
        }
    }

    /// Returns the number of rows of an answer, and whether it is truncated.
    fileprivate func count(_ statement: String, _ further: Object) throws -> (Int, Bool) {
        let (status, answer) = try query(statement, further)
        #expect(status == 200)
        guard case .array(let rows)? = answer["rows"] else { return (-1, false) }
        return (rows.count, answer["isTruncated"] == true)
    }
}
