import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// Tests of the texts that an export writes: cells, columns, pieces and reports.
@Suite struct ExportCellTests {
    /// Exports the documents of JSON lines; returns the text.
    private func export(
        _ lines: [String], _ format: ExportFormat, _ progress: ExportProgress = ExportProgress(),
        to sink: ByteSink = ByteSink()
    ) throws -> String {
        let fixture = try ImportFixture()
        _ = try fixture.run(text: lines.joined(separator: "\n"), .jsonl)
        let source = try RowSource(
            .collection("t"), fixture.queries, fixture.queries.snapshot())
        let outcome = try ExportRun(progress).write(source, as: format, to: sink.stream)
        #expect(outcome.rowCount == lines.count)
        return String(decoding: sink.bytes, as: UTF8.self)
    }

    /// The lines of documents with the ids 0, 1 and so on.
    private func lines(_ texts: [String]) -> [String] {
        texts.enumerated().map {
            Value.object(["_id": .integer(Int64($0)), "s": .string($1)]).json
        }
    }

    @Test func `a table of Markdown aligns columns of numbers, and escapes names`() throws {
        let text = try export(
            [
                #"{"_id":1,"a_b":"x","__c":[1,"a|b"],"f":1.5,"i":1,"mix":1,"nul":null,"o":{}}"#,
                #"{"_id":2,"a_b":true,"__c":"y","f":null,"i":2.5,"mix":"x","nul":null}"#,
            ], .markdown)
        #expect(
            text == #"""
                | _id | \_\_c | a_b | f | i | mix | nul | o |
                | ---: | --- | --- | ---: | ---: | --- | --- | --- |
                | 1 | \[1,"a\|b"] | x | 1.5 | 1 | 1 | null | {} |
                | 2 | y | true | null | 2.5 | x | null |  |

                """#)
    }

    @Test func `a cell of Markdown is one line, without characters that have a meaning`() throws {
        let cells = [
            ("plain é 1.", "plain é 1."), ("a\nb", "a<br>b"), ("a\r\nb", "a<br>b"),
            ("a\n\rb", "a<br><br>b"), ("a\r\r\nb", "a<br><br>b"), ("a\rb\nc", "a<br>b<br>c"),
            ("\u{2028}\u{2029}\u{85}\u{B}\u{C}", "<br><br><br><br><br>"),
            ("\u{1}\t", #"\\u0001\\u0009"#), ("\u{1F} !", #"\\u001f !"#),
            ("~\u{7F}", #"\~\\u007f"#), ("\u{9F}\u{A0}", "\\\\u009f\u{A0}"), ("_a", "_a"),
            ("_a_", #"\_a\_"#), (#"\|*`<&[~"#, #"\\\|\*\`\<\&\[\~"#), ("]>}#+", "]>}#+"),
        ]
        let text = try export(lines(cells.map(\.0)), .markdown)
        let found = text.utf8.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        #expect(found.count == cells.count + 2)
        for ((number, cell), line) in zip(cells.enumerated(), found.dropFirst(2)) {
            #expect(line == "| \(number) | \(cell.1) |", "\(cell.0.debugDescription)")
        }
    }

    @Test func `strings that could be another value are in quotes, and all others are not`() throws
    {
        let quoted = [
            "", " a", "a ", "\ta", "a\t", "{a", "[a", "-a", "+a", ".a", "0a", "5", "9a", "null",
            "NULL", "True", "false", "nan", "NaN", "inf", "infinity", "Infinity", "a,b", "a\"b",
            "\"", "a\nb", "a\rb",
        ]
        let plain = [
            "a", "/a", ":a", "*a", "!", "'a'", "a b", "a0", "a-", "nulls", "infinite", "infinity1",
            "é", "a;b|c", "truefalse", "t", "a{", "~",
        ]
        let texts = quoted + plain
        let cells =
            quoted.map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" } + plain
        let rows = cells.enumerated().map { "\($0),\($1)\r\n" }
        let text = try export(lines(texts), .csv)
        #expect(Array(text.utf8) == Array(("_id,s\r\n" + rows.joined()).utf8))
    }

    @Test func `the id is the first column, and others follow in the order of their appearance`()
        throws
    {
        let text = try export(
            [
                #"{"_id":1,"z":1,"a,b":2}"#, #"{"_id":2,"":3,"c\"d":4}"#,
                #"{"_id":3,"a":[1,"x"],"z":{"k":null}}"#,
            ], .csv)
        #expect(
            text
                == "_id,\"a,b\",z,\"\",\"c\"\"d\",a\r\n1,2,1,,,\r\n2,,,3,4,\r\n"
                + "3,,\"{\"\"k\"\":null}\",,,\"[1,\"\"x\"\"]\"\r\n")
    }

    @Test func `rows longer than a piece are written completely, in order`() throws {
        let lines = (0..<45).map { number in
            "{\"_id\":\(number + 10),\"s\":\"\(String(repeating: "x", count: 20_000))\"}"
        }
        #expect(try export(lines, .jsonl) == lines.map { $0 + "\n" }.joined())
        let array = "[\n" + lines.joined(separator: ",\n") + "\n]\n"
        #expect(try export(lines, .json) == array)
        let rows = (0..<45).map { "\($0 + 10),\(String(repeating: "x", count: 20_000))\r\n" }
        #expect(try export(lines, .csv) == "_id,s\r\n" + rows.joined())
    }

    @Test(arguments: [ExportFormat.jsonl, .json, .csv, .markdown])
    func `each 4,096 rows are reported, with the bytes sent before`(_ format: ExportFormat) throws {
        let text = String(repeating: "x", count: 70)
        let lines = (0..<4_100).map { "{\"_id\":\($0),\"s\":\"\(text)\"}" }
        let sink = ByteSink()
        var reports: [ExportProgress.Report] = []
        var sent = 0
        let progress = ExportProgress { (report) throws(ExportError) in
            reports.append(report)
            sent = sink.bytes.count
        }
        _ = try export(lines, format, progress, to: sink)
        #expect(sent > 0 && sent < sink.bytes.count)
        var expected: [ExportProgress.Report] = [.written(rows: 4_096, bytes: sent)]
        if format == .csv || format == .markdown {
            expected.insert(.scanned(rows: 4_096), at: 0)
        }
        #expect(reports == expected)
    }

    @Test func `an error of a report ends the export`() throws {
        let lines = (0..<4_096).map { "{\"_id\":\($0)}" }
        let progress = ExportProgress { (_) throws(ExportError) in throw .failed("enough") }
        #expect(throws: ExportError.failed("enough")) {
            _ = try export(lines, .jsonl, progress)
        }
    }

    @Test(arguments: [
        (0, "; the store has no collections"), (1, "; the store has 'c1'"),
        (5, "; the store has 'c1', 'c2', 'c3', 'c4', 'c5'"),
        (6, "; the store has 'c1', 'c2', 'c3', 'c4', 'c5' and 1 more"),
        (7, "; the store has 'c1', 'c2', 'c3', 'c4', 'c5' and 2 more"),
    ])
    func `the error for an unknown collection names up to five`(
        _ count: Int, _ end: String
    ) throws {
        let fixture = try ImportFixture()
        if count > 0 {
            _ = try fixture.queries.documents.write(
                from: nil, append: { batch throws(StorageError) in try fixture.log.append(batch) }
            ) { transaction throws(EngineError) in
                for number in 1...count {
                    _ = try transaction.apply(
                        DocumentChange("c\(number)", 1, .insert(Object())))
                }
            }
        }
        #expect(throws: ExportError.failed("there is no collection 'zzzzzzzz'" + end)) {
            _ = try RowSource(
                .collection("zzzzzzzz"), fixture.queries, fixture.queries.snapshot())
        }
    }
}
