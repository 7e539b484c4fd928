import SheafDocument
import SheafTestSupport
import SheafTransfer
import Testing

/// Tests of CSV records: random texts against a naive reader, headers, and types of columns.
@Suite struct CSVModelTests {
    private static let pieces = [
        "a", "b c", ",", ",", "\"", "\"", "\n", "\n", "\r\n", "\r", "\"\"", ";", "é", ",\"x\"\n",
    ]

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `random texts have the records, lines and errors of a naive reader`(
        _ seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "records")
        for round in 0..<25 {
            let count = random.below(50)
            let text = (0..<count).map { _ in Self.pieces[random.below(Self.pieces.count)] }
                .joined()
            var options = CSVOptions()
            options.separator = UInt8(ascii: ",")
            options.types = [("x", .text), ("y", .text)]
            let fixture = try ImportFixture()
            let report = try fixture.run(text: "x,y\n" + text, .csv, options)
            let expected = NaiveRecords(Array(text.utf8))
            let place = "seed \(seed), round \(round): \(text.debugDescription)"
            #expect(report.badRowCount == UInt64(expected.bad.count), "\(place)")
            #expect(report.badRows == Array(expected.bad.prefix(20)), "\(place)")
            #expect(report.importedCount == UInt64(expected.good.count), "\(place)")
            #expect(try contents(fixture) == expected.good.map { $0.json }, "\(place)")
        }
    }

    /// The documents without their ids as JSON, in the order of the rows.
    private func contents(_ fixture: ImportFixture) throws -> [String] {
        try fixture.documents().map { document in
            var document = document
            document["_id"] = nil
            return Value.object(document).json
        }
    }

    /// A reader of records with the columns `x` and `y`, after a header in line 1.
    private struct NaiveRecords {
        private enum State { case start, plain, quoted, closed, after }

        private(set) var good: [Value] = []
        private(set) var bad: [BadRow] = []
        /// The line of the next byte.
        private var line: UInt64 = 2
        private var recordLine: UInt64 = 2
        private var state = State.start
        private var fields: [(bytes: [UInt8], isQuoted: Bool)] = []
        private var field: [UInt8] = []
        private var isQuoted = false
        private var problem: String?

        init(_ bytes: [UInt8]) {
            for byte in bytes {
                if byte == 0x0A { line += 1 }
                add(byte)
            }
            if state == .quoted, problem == nil {
                problem = "the quote of a field is never closed"
            }
            // A text that ends with a line break has no further record.
            if bytes.last != 0x0A || state == .quoted, !bytes.isEmpty { endRecord() }
        }

        private mutating func add(_ byte: UInt8) {
            switch (state, byte) {
            case (.quoted, 0x22): state = .closed
            case (.quoted, _): field.append(byte)
            case (.closed, 0x22):
                field.append(byte)
                state = .quoted
            case (.start, 0x22): (state, isQuoted) = (.quoted, true)
            case (_, 0x2C): endField()
            case (_, 0x0A): endRecord()
            case (.closed, _), (.after, _):
                field.append(byte)
                // Only a carriage return that ends the record may follow the quote.
                if state == .after || byte != 0x0D { refuse() }
                state = .after
            default:
                field.append(byte)
                state = .plain
            }
        }

        private mutating func refuse() {
            problem =
                problem ?? "field \(fields.count + 1) continues after its closing quote"
        }

        private mutating func endField() {
            if state == .after { refuse() }
            fields.append((field, isQuoted))
            (field, isQuoted, state) = ([], false, .start)
        }

        private mutating func endRecord() {
            if state == .plain || state == .after, field.last == 0x0D {
                field.removeLast()
                // The carriage return belongs to the end of the record.
                if state == .after { state = .closed }
            }
            endField()
            finish()
            (fields, problem, recordLine) = ([], nil, line)
        }

        private mutating func finish() {
            if fields.count == 1, fields[0].bytes.isEmpty, !fields[0].isQuoted, problem == nil {
                return
            }
            if let problem { return bad.append(BadRow(row: recordLine, reason: problem)) }
            guard fields.count == 2 else {
                let found = fields.count == 1 ? "1 field" : "\(fields.count) fields"
                return bad.append(
                    BadRow(row: recordLine, reason: "the row has \(found), and the header 2"))
            }
            var object = Object()
            for (name, field) in zip(["x", "y"], fields)
            where !field.bytes.isEmpty || field.isQuoted {
                object[name] = .string(String(decoding: field.bytes, as: UTF8.self))
            }
            good.append(.object(object))
        }
    }

    // MARK: Headers

    @Test(arguments: [
        ("a,b;c;d\n1,2", #"{"a":1,"b;c;d":2}"#), ("a;b|c;d\n1;2;3\n", #"{"a":1,"b|c":2,"d":3}"#),
        ("a|b;c|d\n1|2|3", #"{"a":1,"b;c":2,"d":3}"#), ("a\tb\n1\t2", #"{"a":1,"b":2}"#),
        ("a\n1", #"{"a":1}"#), ("\"a,b\";c\n1;2", #"{"a,b":1,"c":2}"#),
        ("\"a;\"\"b;\"|c\n1|2", #"{"a;\"b;":1,"c":2}"#), ("a;b\n1,0;2", #"{"a":"1,0","b":2}"#),
        ("a b\n1 2", #"{"a b":"1 2"}"#), ("a;b|c\n1;2", #"{"a":1,"b|c":2}"#),
    ])
    func `fields are separated by commas, or by the most frequent mark of the header`(
        _ text: String, _ document: String
    ) throws {
        let fixture = try ImportFixture()
        #expect(try fixture.run(text: text, .csv).badRows == [])
        #expect(try contents(fixture) == [document])
    }

    private func error(
        _ bytes: [UInt8], _ csv: CSVOptions = CSVOptions()
    ) throws -> ImportError? {
        let fixture = try ImportFixture()
        let path = try fixture.file("text", bytes)
        do { _ = try fixture.run(path, .csv, csv) } catch let error as ImportError { return error }
        return nil
    }

    @Test func `the error for a header has its line and the reason`() throws {
        for (bytes, end) in [
            (Array("a,".utf8) + [0xFF], "line 1: the header is not valid UTF-8"),
            (
                Array("\r\n\na\rb,c\n".utf8),
                "line 3: the header has a carriage return in a name: lines must end with a line "
                    + "feed, alone or after a carriage return"
            ),
            (Array("a,b,\"\"\n".utf8), "line 1: the header has no name for column 3"),
            (Array("\"a\"b,c\n".utf8), "line 1: field 1 continues after its closing quote"),
        ] {
            let found = try error(bytes)
            guard case .source(let text)? = found else {
                Issue.record("\(String(describing: found)) instead of \(end)")
                continue
            }
            #expect(text.hasSuffix("/text, " + end), "\(text)")
        }
    }

    @Test func `the error for a column that is missing names those of the file`() throws {
        var types = CSVOptions()
        types.types = [("b", .text), ("x", .text)]
        var id = CSVOptions()
        id.idName = "y"
        for (options, start) in [
            (types, "--types names the column x"), (id, "--id names the column y"),
        ] {
            let found = try error(Array("a,b\n1,2".utf8), options)
            guard case .usage(let text)? = found else {
                Issue.record("\(String(describing: found)) instead of \(start)")
                continue
            }
            #expect(text.hasPrefix("\(start), and "), "\(text)")
            #expect(text.hasSuffix("/text has a, b"), "\(text)")
        }
    }

    @Test func `names that differ only in their bytes are different columns`() throws {
        var options = CSVOptions()
        options.types = [("\u{E9}", .text)]
        let fixture = try ImportFixture()
        #expect(try fixture.run(text: "e\u{301},\u{E9}\n1,2", .csv, options).badRows == [])
        let found = try contents(fixture).map { Array($0.utf8) }
        #expect(found == [Array("{\"e\u{301}\":1,\"\u{E9}\":\"2\"}".utf8)])
    }

    // MARK: Types

    @Test(arguments: [
        // A row of another length is bad, and has no part in the types.
        ("a,b\n1,2\nx\n3,4\n", "", #"{"a":1,"b":2} {"a":3,"b":4}"#),
        ("a,b\n1,2\nx,y,z\n", "", #"{"a":1,"b":2}"#), ("a,b\n1,\"2\"\n", "", #"{"a":1,"b":2}"#),
        // Neither have empty fields and those that are null.
        ("a,b\n,NULL\n1,2.5\n", "NULL", #"{"b":null} {"a":1,"b":2.5}"#),
        ("a,b\n1,\"NULL\"\n2,3\n", "NULL", #"{"a":1,"b":"NULL"} {"a":2,"b":"3"}"#),
        ("a,b\n1,NULLS\n2,NULL\n", "NULL", #"{"a":1,"b":"NULLS"} {"a":2,"b":null}"#),
    ])
    func `the types of columns are those of the fields of good rows`(
        _ text: String, _ null: String, _ documents: String
    ) throws {
        var options = CSVOptions()
        options.null = null.isEmpty ? nil : null
        let fixture = try ImportFixture()
        _ = try fixture.run(text: text, .csv, options)
        #expect(try contents(fixture).joined(separator: " ") == documents)
    }

    @Test(arguments: [
        ("_id", "_id,b\n1.5,true\n", #"{"_id":"1.5","b":true}"#),
        ("_id", "_id,b\ntrue,1.5\n", #"{"_id":"true","b":1.5}"#),
        ("_id", "_id,b\n7,x\n", #"{"_id":7,"b":"x"}"#),
        ("k", "k,b\n0.5,7\n", #"{"_id":"0.5","b":7}"#), ("k", "k,b\n-7,7\n", #"{"_id":-7,"b":7}"#),
    ])
    func `ids are integers or texts`(_ name: String, _ text: String, _ document: String) throws {
        var csv = CSVOptions()
        var options = ImportOptions()
        (csv.idName, options.idName) = (name, name)
        let fixture = try ImportFixture()
        #expect(try fixture.run(text: text, .csv, csv, options).badRows == [])
        #expect(try fixture.documents().map { Value.object($0).json } == [document])
    }

    @Test func `a row with a NUL byte is bad`() throws {
        let fixture = try ImportFixture()
        // A NUL byte among the first bytes would be that of a file that is no text.
        let padding = Array(String(repeating: "1\n", count: 2_100).utf8)
        let bytes = Array("a\n".utf8) + padding + [0x31, 0, 0x0A, 0x32, 0x0A]
        let report = try fixture.run(fixture.file("x.csv", bytes))
        #expect(
            report.badRows == [
                BadRow(row: 2_102, reason: "the row has a NUL byte, so it is not text")
            ])
        #expect(report.importedCount == 2_101)
    }
}
