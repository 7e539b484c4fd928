import SheafDocument
import SheafTestSupport
import SheafTransfer
import Testing

/// Imports of CSV files.
@Suite struct CSVImportTests {
    @Test(arguments: [UInt64](1...8))
    func `random tables are read back`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "tables")
        let width = 1 + random.below(5)
        let separator = [",", ";", "\t", "|"][random.below(4)]
        let lineBreak = random.chance(1, in: 2) ? "\r\n" : "\n"
        var text = random.chance(1, in: 2) ? "\u{FEFF}" : ""
        text += (["_id"] + (0..<width).map { "c\($0)" }).joined(separator: separator) + lineBreak
        var expected: [Object] = []
        for row in 0..<200 + random.below(200) {
            var (object, fields): (Object, [String]) = (["_id": .string("r\(row + 1_000)")], [])
            for column in 0..<width {
                let content = Self.text(&random)
                let isQuoted =
                    content.utf8.contains { "\",;\t|\r\n".utf8.contains($0) }
                    || random.chance(1, in: 3)
                let doubled = content.map { $0 == "\"" ? "\"\"" : String($0) }.joined()
                fields.append(isQuoted ? "\"\(doubled)\"" : content)
                guard !content.isEmpty || isQuoted else { continue }
                object["c\(column)"] = .string(content)
            }
            expected.append(object)
            text += (["r\(row + 1_000)"] + fields).joined(separator: separator) + lineBreak
        }
        if random.chance(1, in: 2) { text.removeLast() }
        var options = CSVOptions()
        options.separator = separator.utf8.first
        // One text in each column, as numbers alone would be numbers.
        options.types = (0..<width).map { ("c\($0)", .text) }
        let fixture = try ImportFixture()
        let report = try fixture.run(text: text, .csv, options)
        #expect(report.badRows.isEmpty, "seed \(seed)")
        let found = try fixture.documents().map { Value.object($0).json }
        #expect(found.count == expected.count, "seed \(seed)")
        for (found, object) in zip(found, expected) where found != Value.object(object).json {
            Issue.record("seed \(seed): \(found) instead of \(Value.object(object).json)")
            break
        }
    }

    private static func text(_ random: inout SeededRandom) -> String {
        let parts = ["", "a", "\"", ",", ";", "\n", "\r\n", "é", "12", " ", "\t", "|", "x y"]
        return (0..<random.below(4)).map { _ in parts[random.below(parts.count)] }.joined()
    }

    @Test func `a column has the type of all its fields`() throws {
        for (fields, type) in [
            (["1", "-2", "0"], ColumnType.integer), (["9223372036854775807"], .integer),
            (["-9223372036854775808"], .integer), (["9223372036854775808"], .text),
            (["1", "2.5"], .float), (["1e3", ".5", "-0.5"], .float), (["1e999"], .text),
            (["9007199254740993", "0.5"], .text), (["007"], .text), (["1", "007"], .text),
            (["00.5"], .text), (["-0"], .text), (["+5"], .text), (["0x1F"], .text),
            (["1_0"], .text),
            (["5."], .text), (["1,5"], .text), (["nan"], .text), (["inf"], .text),
            (["true", "FALSE", "True"], .boolean), (["true", "1"], .text), (["tRue"], .text),
            (["1", "x"], .text), ([" 1"], .text), (["2024-01-01"], .text), ([], .text),
        ] {
            var evidence = ColumnEvidence()
            for field in fields { evidence.add(Array(field.utf8)[...]) }
            #expect(evidence.type == type, "\(fields)")
            for field in fields {
                #expect(type.value(Array(field.utf8)[...]) != nil, "\(field) as \(type)")
            }
        }
    }

    @Test(arguments: [65_536, 65_537])
    func `a record has at most 65,536 fields`(count: Int) throws {
        let names = (0..<count).map { "c\($0)" }
        let fixture = try ImportFixture()
        let text = names.joined(separator: ",") + "\n"
        guard count > 65_536 else {
            #expect(try fixture.run(text: text, .csv).badRows.isEmpty)
            return
        }
        let error = #expect(throws: ImportError.self) { try fixture.run(text: text, .csv) }
        guard case .source(let message)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(message.hasSuffix("line 1: the record has more than 65536 fields"))
    }

    @Test func `records and lines have at most 64 MiB, and reports list 20 bad rows`() {
        #expect(CSVReader.maximumRecordLength == 67_108_864)
        #expect(JSONLinesSource.maximumLineLength == 67_108_864)
        #expect(ImportReport.maximumListed == 20)
    }

    /// A record is measured while its end is not in memory, as in an input whose end is unknown.
    @Test(arguments: [
        ("", false), ("\"", true), ("\"\"\"", true), ("\"b\"\"c\",", false),
        ("\"b\",\"c", true),
    ])
    func `a record that is too long is a bad row, which names a quote that may be open`(
        start: String, isQuoted: Bool
    ) throws {
        var options = CSVOptions()
        options.maximumRecordLength = 1_000
        let fixture = try ImportFixture()
        let record = start + String(repeating: "x", count: 6_000)
        let report = try fixture.run(text: "_id,a\n1,z\n\n\(record)", .csv, options)
        let reason = "the record has more than 1000 bytes"
        let expected = isQuoted ? reason + "; a quote may not be closed" : reason
        #expect(report.badRows == [BadRow(row: 4, reason: expected)])
        let imported = try fixture.documents().map { Value.object($0).json }
        #expect(imported == [#"{"_id":1,"a":"z"}"#])
    }

    @Test(arguments: [19, 20, 21])
    func `a report lists the first 20 bad rows, and counts all`(count: Int) throws {
        var options = CSVOptions()
        options.types = [("n", .integer)]
        let text = "_id,n\n" + (0..<count).map { "\($0),x\n" }.joined()
        let report = try ImportFixture().run(text: text, .csv, options)
        #expect(report.badRowCount == UInt64(count))
        #expect(report.badRows.map(\.row) == (0..<min(count, 20)).map { UInt64($0 + 2) })
    }

    @Test func `types are inferred from the last row, too`() throws {
        let fixture = try ImportFixture()
        let rows = (1...20_000).map { "\($0),\($0)" } + ["20001,x"]
        let report = try fixture.run(
            text: "_id,n\n" + rows.joined(separator: "\n"), .csv)
        #expect(report.importedCount == 20_001)
        #expect(try fixture.documents().first?["n"] == "1")
        #expect(try fixture.documents().first?["_id"] == 1)
    }

    @Test func `empty fields are missing, and quoted ones are empty texts`() throws {
        let fixture = try ImportFixture()
        var options = CSVOptions()
        options.null = "NULL"
        _ = try fixture.run(
            text: "_id,a,b,c\n1,,\"\",5\n2,x,y,\n3,NULL,\"NULL\",\"\"\n", .csv, options)
        #expect(
            try fixture.documents().map { Value.object($0).json } == [
                #"{"_id":1,"b":"","c":5}"#, #"{"_id":2,"a":"x","b":"y"}"#,
                #"{"_id":3,"a":null,"b":"NULL"}"#,
            ])
    }

    @Test func `bad rows are reported by line`() throws {
        let fixture = try ImportFixture()
        var options = CSVOptions()
        options.types = [("n", .integer), ("j", .json)]
        let report = try fixture.run(
            text: "_id,n,j\n1,x,\n2,3\n3,4,5,6\n\"4\n\n\",5,\"[1,{\"\"a\"\":2}]\"\n5,6,{\n"
                + "6,\"7\"8,\n7,1,\"", .csv, options)
        #expect(report.importedCount == 1)
        #expect(
            report.badRows == [
                BadRow(row: 2, reason: "column n: 'x' is not an integer of 64 bits"),
                BadRow(row: 3, reason: "the row has 2 fields, and the header 3"),
                BadRow(row: 4, reason: "the row has 4 fields, and the header 3"),
                BadRow(row: 8, reason: "column j: '{' is not a JSON value"),
                BadRow(row: 9, reason: "field 2 continues after its closing quote"),
                BadRow(row: 10, reason: "the quote of a field is never closed"),
            ])
        #expect(
            try fixture.documents().map { Value.object($0).json } == [
                #"{"_id":"4\n\n","j":[1,{"a":2}],"n":5}"#
            ])
    }

    @Test func `a header that names no columns is refused`() throws {
        for (text, message) in [
            ("\n\n", "the file has no header"),
            ("a,,b\n", "line 1: the header has no name for column 2"),
            ("\na,b,a\n", "line 2: the header has two columns a"),
            ("\"a", "line 1: the quote of a field is never closed"),
        ] {
            let fixture = try ImportFixture()
            let error = #expect(throws: ImportError.self, "\(text)") {
                try fixture.run(text: text, .csv)
            }
            guard case .source(let found)? = error else { continue }
            #expect(found.hasSuffix(message), "\(found)")
        }
        var options = CSVOptions()
        options.types = [("x", .text)]
        let fixture = try ImportFixture()
        #expect(throws: ImportError.self) { try fixture.run(text: "a,b\n1,2", .csv, options) }
        options.types = []
        options.idName = "x"
        #expect(throws: ImportError.self) { try fixture.run(text: "a,b\n1,2", .csv, options) }
    }
}
