import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafTestSupport
import SheafTransfer
import Testing

@Suite struct TextExportTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `each document is a line of JSON`(seed: UInt64) async throws {
        var random = RandomDocuments(seed: seed)
        let documents = random.mixed(80)
        let fixture = try await ExportFixture(documents.map { ("c", $0) })
        let lines = try fixture.text(.jsonl, of: "c").split(separator: "\n")
        #expect(Set(lines.map(String.init)) == Set(documents.map { Value.object($0).json }))
        #expect(lines.count == documents.count)
        let array = try Value(json: try fixture.text(.json, of: "c"))
        #expect(array.json == "[" + lines.joined(separator: ",") + "]")
    }

    @Test func `an array of no rows is valid JSON`() async throws {
        let fixture = try await ExportFixture([("c", ["_id": 1])])
        let none = "SELECT * FROM c WHERE _id = 2"
        #expect(try Value(json: try fixture.text(.json, statement: none)).json == "[]")
        #expect(try fixture.text(.jsonl, statement: none) == "")
        #expect(try fixture.text(.csv, statement: none) == "")
        #expect(try fixture.text(.csv, statement: "SELECT a FROM c WHERE _id = 2") == "a\r\n")
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `an import of exported CSV gives the same documents`(seed: UInt64) async throws {
        var random = RandomDocuments(seed: seed)
        let documents = random.uniform(60)
        let fixture = try await ExportFixture(documents.map { ("t", $0) })
        let text = try fixture.text(.csv, of: "t")
        let copy = try ImportFixture()
        var csv = CSVOptions()
        csv.types = Self.types(of: documents)
        let report = try copy.run(text: text, .csv, csv)
        #expect(report.badRows == [])
        #expect(
            Set(try copy.documents().map { Value.object($0).json })
                == Set(documents.map { Value.object($0).json }))
    }

    /// Returns the types of all columns.
    private static func types(of documents: [Object]) -> [(name: String, type: ColumnType)] {
        var types: [(name: String, type: ColumnType)] = []
        for field in documents.joined()
        where !types.contains(where: { $0.name.utf8.elementsEqual(field.name.utf8) }) {
            let type: ColumnType =
                switch field.value {
                case .integer: .integer
                case .float: .float
                case .bool: .boolean
                case .string: .text
                default: .json
                }
            types.append((field.name, type))
        }
        return types
    }

    @Test func `cells of CSV distinguish values with similar texts`() async throws {
        let fixture = try await ExportFixture([
            ("c", ["_id": "1", "a": .null, "b": "null", "c": "", "d": "x,\"y\"", "e": 1.0]),
            (
                "c",
                ["_id": "2", "b": "plain", "d": "l\r\nm", "e": ["k": "v"], "f": .bytes([0, 255])]
            ),
        ])
        let lines = [
            "_id,a,b,c,d,e,f", ##""1",null,"null","","x,""y""",1.0,"##,
            ##""2",,plain,,"l"##, ##"m","{""k"":""v""}",AP8="##, "",
        ]
        #expect(try fixture.text(.csv, of: "c") == lines.joined(separator: "\r\n"))
    }

    @Test func `a note has the options with which an import gives the same documents`() async throws
    {
        let fixture = try await ExportFixture([
            ("c", ["_id": "1", "a": "007", "b": "x", "c": [1], "d": 1, "e": 1, "f": .null]),
            ("c", ["_id": "2", "a": "", "b": "1", "c": ["k": 1], "d": 2.5, "e": 2]),
        ])
        #expect(
            try notes(of: fixture) == [
                "to get the same documents, import the file with --null null --types "
                    + "'_id=text,a=text,c=json,d=json'"
            ])
        let copy = try ImportFixture()
        var csv = CSVOptions()
        csv.null = "null"
        csv.types = [("_id", .text), ("a", .text), ("c", .json), ("d", .json)]
        #expect(try copy.run(text: try fixture.text(.csv, of: "c"), .csv, csv).badRows == [])
        #expect(
            try copy.documents().map { Value.object($0).json + "\n" }.joined()
                == fixture.text(.jsonl, of: "c"))
    }

    @Test(arguments: [65_535, 65_536])
    func `an export as text has at most 65,536 columns, the id included`(count: Int) async throws {
        var document: [(String, Value)] = [("_id", 1)]
        document += (0..<count).map { ("f\($0)", 1) }
        let fixture = try await ExportFixture([("c", Object(document))])
        guard count == 65_536 else {
            #expect(try notes(of: fixture).isEmpty)
            return
        }
        let error = #expect(throws: (any Error).self) { try notes(of: fixture) }
        let message = try #require(error.map { "\($0)" })
        #expect(message.contains("more than 65536 different fields"), "\(message)")
    }

    @Test(arguments: [(9, ""), (10, ""), (11, " and 1 more"), (12, " and 2 more")])
    func `a note names at most ten columns`(count: Int, rest: String) async throws {
        let names = (10..<10 + count).map { "c\($0)" }
        // Columns with texts and numbers are lost in CSV.
        var (first, second): (Object, Object) = (["_id": 1], ["_id": 2])
        for name in names { (first[name], second[name]) = ("x", 1) }
        let fixture = try await ExportFixture([("c", first), ("c", second)])
        let listed = names.prefix(10).map { "'\($0)'" }.joined(separator: ", ") + rest
        let note = try #require(try notes(of: fixture).first)
        #expect(note.contains("because of the columns \(listed);"), "\(note)")
    }

    /// Returns the notes of an export of `c` as CSV.
    private func notes(of fixture: ExportFixture) throws -> [String] {
        try fixture.read { queries, _ in
            let source = try RowSource(.collection("c"), queries, queries.snapshot())
            return try ExportRun().write(source, as: .csv, to: ByteSink().stream).notes
        }
    }

    /// Returns the options that a note states; nil if it states none.
    private func options(of note: String?) -> CSVOptions? {
        var csv = CSVOptions()
        guard var text = note.map({ $0[...] }) else { return csv }
        guard let start = text.firstRange(of: "import the file with ") else { return nil }
        text = text[start.upperBound...]
        if text.hasPrefix("--null null") {
            csv.null = "null"
            text = text.dropFirst("--null null".count).drop { $0 == " " }
        }
        guard text.hasPrefix("--types '"), text.hasSuffix("'") else { return csv }
        let types = text.dropFirst("--types '".count).dropLast().replacing("'\\''", with: "'")
        for part in types.split(separator: ",") {
            guard let mark = part.lastIndex(of: "="),
                let type = ColumnType(rawValue: String(part[part.index(after: mark)...]))
            else { return nil }
            csv.types.append((String(part[..<mark]), type))
        }
        return csv
    }

    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func `a note on an import of CSV is true`(seed: UInt64) async throws {
        var random = RandomDocuments(seed: seed)
        let count = seed.isMultiple(of: 4) ? 3 : 12
        var documents = seed.isMultiple(of: 2) ? random.uniform(count) : random.mixed(count)
        // Fewer fields need an export of another kind less often.
        let first = documents[0].map(\.name).filter { $0 != "_id" }.prefix(Int(seed % 6))
        documents = documents.map { document in
            Object(sorting: document.filter { $0.name == "_id" || first.contains($0.name) })
        }
        let fixture = try await ExportFixture(documents.map { ("c", $0) })
        let notes = try notes(of: fixture)
        #expect(notes.count <= 1)
        guard let csv = options(of: notes.first) else { return }
        let copy = try ImportFixture()
        let report = try copy.run(text: try fixture.text(.csv, of: "c"), .csv, csv)
        #expect(report.badRows == [], "\(notes)")
        #expect(try sorted(copy.documents()) == sorted(documents), "\(notes)")
    }

    /// Returns the encoded documents, which distinguish all types.
    private func sorted(_ documents: [Object]) -> [[UInt8]] {
        documents.map { EntryWriter.bytes(of: .object($0)) }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Pairs of documents, and their columns that CSV does not preserve.
    private static let lossyDocuments: [(first: Object, second: Object, columns: [String])] = [
        (["_id": 1, "a": 1, "b": 2], ["_id": 2, "a": "x", "b": 3], ["a"]),
        (["_id": 1], ["_id": "1"], ["_id"]),
        (["_id": 1, "a": "x\0", "b": "y"], ["_id": 2], ["a"]),
        (["_id": 1, "": 1], ["_id": 2, "": 2], [""]),
        (["_id": 1, "a\rb": 1, "c\0": 1], ["_id": 2], ["a\rb", "c\0"]),
        (["_id": 1, "a,b": "1"], ["_id": 2], ["a,b"]),
        (["_id": 1, "a\tb": [1]], ["_id": 2, "c": true], ["a\tb"]),
    ]

    @Test(arguments: lossyDocuments)
    func `a note names the columns that CSV does not preserve`(
        first: Object, second: Object, columns: [String]
    ) async throws {
        let fixture = try await ExportFixture([("c", first), ("c", second)])
        let names = columns.map { "'\($0)'" }.joined(separator: ", ")
        #expect(
            try notes(of: fixture) == [
                "an import of the CSV file does not give the same documents, because of the "
                    + (columns.count == 1 ? "column " : "columns ") + names
                    + "; export with --format jsonl or --full"
            ])
    }

    @Test func `a note names the columns that JSON does not preserve either`() async throws {
        let fixture = try await ExportFixture([
            ("c", ["_id": 1, "a": .bytes([1]), "b": [.float(.nan)], "c": 1]),
            ("c", ["_id": 2, "d": .float(.infinity)]), ("c", ["_id": 3, "c": "x", "e": 1.5]),
        ])
        #expect(
            try notes(of: fixture) == [
                "an import of the CSV file does not give the same documents, because of the "
                    + "columns 'a', 'b', 'c', 'd'; export with --full, since JSON has no bytes, "
                    + "infinities and NaN, as in the columns 'a', 'b', 'd'"
            ])
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `each document is a row of a Markdown table`(seed: UInt64) async throws {
        var random = RandomDocuments(seed: seed)
        let documents = random.mixed(30)
        let fixture = try await ExportFixture(documents.map { ("c", $0) })
        let lines = try fixture.text(.markdown, of: "c").utf8.split(separator: 0x0A)
        #expect(lines.count == documents.count + 2)
        let bars = lines.map { line in
            var count = 0
            var isEscaped = false
            for byte in line {
                if byte == UInt8(ascii: "|"), !isEscaped { count += 1 }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            }
            return count
        }
        #expect(Set(bars).count == 1)
        #expect(lines.allSatisfy { !$0.contains { $0 < 0x20 || $0 == 0x7F } })
    }

    @Test(arguments: [
        "SELECT * FROM c", "SELECT a, _id FROM c", "SELECT * FROM c WHERE a > 2",
        "SELECT * FROM c ORDER BY a DESC, _id", "SELECT a FROM c ORDER BY _id LIMIT 3 OFFSET 2",
        "SELECT DISTINCT a FROM c ORDER BY a", "SELECT DISTINCT a FROM c",
        "SELECT a, COUNT(*) AS n FROM c GROUP BY a HAVING n > 1 ORDER BY a",
        "SELECT COUNT(*) FROM c", "SELECT * FROM c LIMIT 0", "SELECT * FROM c OFFSET 7",
        "SELECT x.a, y.a AS b FROM c x JOIN c y ON y._id = x.a", "SELECT * FROM system:dual",
        "SELECT c.*, a + 1 AS next FROM c LIMIT 4", "EXPLAIN SELECT * FROM c",
        "SHOW ALL LIKE 'dql%'",
    ])
    func `rows of a statement are those of its result`(statement: String) async throws {
        let documents = (0..<20).map { number in
            ("c", ["_id": .integer(Int64(number)), "a": .integer(Int64(number % 7))] as Object)
        }
        let fixture = try await ExportFixture(documents)
        let expected = try fixture.read { queries, _ in
            let result = try queries.execute(try Parser.parse(statement))
            return try (0..<result.count).map { Value.object(try result.object($0)).json }
        }
        let lines = try fixture.text(.jsonl, statement: statement).split(separator: "\n")
        #expect(lines.map(String.init) == expected)
    }

    @Test func `the header has the columns of a projection in their order`() async throws {
        let fixture = try await ExportFixture([("c", ["_id": 1, "z": 1, "a": 2])])
        let text = try fixture.text(.csv, statement: "SELECT z, other, a FROM c")
        #expect(text == "z,other,a\r\n1,,2\r\n")
    }

    @Test(arguments: [
        ("DELETE FROM c", "the statement does not only read; run it with 'sheaf query'"),
        ("CREATE INDEX i ON c (a)", "the statement does not only read; run it with 'sheaf query'"),
        ("ALTER SYSTEM SET dql_strict_mode = true", "the statement does not only read"),
    ])
    func `statements that write are refused`(statement: String, message: String) async throws {
        let fixture = try await ExportFixture([("c", ["_id": 1])])
        let error = #expect(throws: ExportError.self) {
            try fixture.text(.jsonl, statement: statement)
        }
        guard case .usage(let text)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(message))
    }

    @Test func `an unknown collection is named, and a similar one suggested`() async throws {
        let fixture = try await ExportFixture([("cars", ["_id": 1])])
        #expect(
            throws: ExportError.failed("there is no collection 'carz'; did you mean 'cars'?")
        ) { try fixture.text(.jsonl, of: "carz") }
        #expect(
            throws: ExportError.failed("there is no collection 'zzzzzz'; the store has 'cars'")
        ) { try fixture.text(.jsonl, of: "zzzzzz") }
    }

    @Test func `an error of the output ends the export`() async throws {
        let fixture = try await ExportFixture(
            (0..<60).map { ("c", ["_id": .integer($0), "t": "0123456789" * 1_000]) })
        var calls = 0
        #expect(throws: ExportError.closed) {
            try fixture.read { queries, _ in
                let source = try RowSource(.collection("c"), queries, queries.snapshot())
                let stream = ExportStream { (_) throws(ExportError) in
                    calls += 1
                    throw .closed
                }
                _ = try ExportRun().write(source, as: .jsonl, to: stream)
            }
        }
        #expect(calls == 1)
    }

    @Test func `a statement ends with an error of the output, too`() async throws {
        let fixture = try await ExportFixture(
            (0..<60).map { ("c", ["_id": .integer($0), "t": "0123456789" * 1_000]) })
        #expect(throws: ExportError.closed) {
            try fixture.read { queries, _ in
                let statement = try Parser.parse("SELECT t FROM c")
                let source = try RowSource(
                    .statement(statement, ArgumentValues()), queries, queries.snapshot())
                let stream = ExportStream { (_) throws(ExportError) in throw .closed }
                _ = try ExportRun().write(source, as: .jsonl, to: stream)
            }
        }
    }
}

private func * (text: String, count: Int) -> Value {
    .string(String(repeating: text, count: count))
}
