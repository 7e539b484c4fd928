import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// Tests of the reports of imports, and of the errors of those that continue.
@Suite struct ImportReportTests {
    private func options(strict: Bool = false, resumes: Bool = false) -> ImportOptions {
        var options = ImportOptions()
        if strict { options.badRowLimit = 0 }
        options.resumes = resumes
        return options
    }

    private func source(_ text: String) throws -> (ImportFixture, String) {
        let fixture = try ImportFixture()
        return (fixture, try fixture.file("rows", Array(text.utf8)))
    }

    /// Returns the text of the error of the source.
    private func message(_ body: () throws -> Void) -> String {
        do { try body() } catch ImportError.source(let text) {
            return text
        } catch {
            return "another error: \(error)"
        }
        return "no error"
    }

    @Test(
        arguments: [
            (ImportFormat.jsonl, "{\"n\":1}\n[]\n{\"n\":2}\n", 11, 3, 19, 4),
            (.json, "[{\"n\":1},[],{\"n\":2}]", 11, 3, 20, 4),
            (.json, "{\"n\":1}\n[]\n{\"n\":2}", 10, 3, 18, 4),
            (.csv, "n\n1\n1,2\n2\n", 8, 4, 10, 5),
        ] as [(ImportFormat, String, UInt64, UInt64, UInt64, UInt64)])
    func `a report has the counts and positions of its run and of those before it`(
        _ format: ImportFormat, _ text: String, _ stop: UInt64, _ stopRow: UInt64, _ end: UInt64,
        _ endRow: UInt64
    ) throws {
        let (fixture, path) = try source(text)
        let csv = CSVOptions()
        let first = try fixture.run(path, format, csv, options(strict: true))
        #expect(first.isStopped && first.isResumable && !first.isInterrupted)
        #expect(first.importedCount == 1 && first.earlierCount == 0)
        #expect(first.badRowCount == 1 && first.earlierBadRowCount == 0)
        #expect(first.start == ImportPosition(), "\(first.start)")
        #expect(first.position.offset == stop && first.position.row == stopRow)
        #expect(first.end == UInt64(text.utf8.count))
        let second = try fixture.run(path, format, csv, options(resumes: true))
        #expect(!second.isStopped && !second.isResumable && !second.isInterrupted)
        #expect(second.importedCount == 1 && second.earlierCount == 1)
        #expect(second.badRowCount == 0 && second.earlierBadRowCount == 1)
        #expect(second.badRows == [] && second.skippedCount == 0)
        #expect(second.start == first.position)
        #expect(second.position.offset == end && second.position.row == endRow)
        // Runs that begin in one millisecond may give ids in any order.
        #expect(Set(try fixture.documents().compactMap { $0["n"] }) == [1, 2])
    }

    @Test func `an import that restarts imports the earlier rows, too`() throws {
        let (fixture, path) = try source("{\"n\":1}\nx\n{\"n\":2}\n")
        _ = try fixture.run(path, .jsonl, CSVOptions(), options(strict: true))
        var restarting = options()
        restarting.restarts = true
        let report = try fixture.run(path, .jsonl, CSVOptions(), restarting)
        #expect(report.importedCount == 2 && report.earlierCount == 0)
        #expect(report.badRowCount == 1 && report.start == ImportPosition())
        #expect(try fixture.documentCount() == 3)
        // The progress of the first attempt ends with the second one.
        let again = try fixture.run(path, .jsonl)
        #expect(again.importedCount == 2 && again.start == ImportPosition())
    }

    // MARK: Continuing

    @Test func `an import that was interrupted is neither repeated nor continued with others`()
        throws
    {
        let (fixture, _) = try source("")
        for (name, text) in [("b", "{\"n\":1}\nx\n"), ("a", "x\n{\"n\":2}\n")] {
            let path = try fixture.file(name, Array(text.utf8))
            _ = try fixture.run(path, .jsonl, CSVOptions(), options(strict: true))
        }
        // An import into another collection is not named.
        let other = try fixture.file("o", Array("x\n".utf8))
        let elsewhere = ImportTarget(fixture.log, fixture.queries, collection: "u")
        _ = try ImportRun(
            ImportFile.open(other, .jsonl, CSVOptions()), into: elsewhere, options(strict: true)
        ).run()
        #expect(
            message { _ = try fixture.run(fixture.directory.path("b"), .jsonl) }
                == "an import of b into t was interrupted after line 2; --resume continues it, and "
                + "--restart imports all rows once more, and keeps those of the first attempt")
        let third = try fixture.file("c", Array("{\"n\":3}\n".utf8))
        #expect(
            message { _ = try fixture.run(third, .jsonl, CSVOptions(), options(resumes: true)) }
                == "no import of c into t was interrupted, but a after line 1, b after line 2: an "
                + "import continues with the same file, of the same length and first bytes, and "
                + "with the same options and types of columns")
        #expect(try fixture.documentCount() == 1)
    }

    @Test func `an import without progress continues only into an empty collection`() throws {
        let (fixture, path) = try source("{\"n\":1}\n")
        let first = try fixture.run(path, .jsonl, CSVOptions(), options(resumes: true))
        #expect(first.importedCount == 1 && first.earlierCount == 0)
        #expect(
            message { _ = try fixture.run(path, .jsonl, CSVOptions(), options(resumes: true)) }
                == "no import of rows into t was interrupted, and the collection has documents: it "
                + "may be complete; without --resume all rows are imported")
        #expect(try fixture.run(path, .jsonl).importedCount == 1)
    }

    @Test(arguments: [
        ("{\"n\":1}\n", " has 8 bytes, and the interrupted import had read 11"),
        (
            "{\"n\":3}\n[]\n{\"n\":2}\n",
            " has changed: its first 11 bytes differ from those that the interrupted import had "
                + "read; --resume needs the same rows, and --restart imports all rows of this input"
        ),
        ("{\"n\":1}\n[]\n", "no error"), ("{\"n\":1}\n[]\n[]\n{\"n\":2}", "no error"),
    ])
    func `an input of unknown length continues if its first bytes are the same`(
        _ text: String, _ expected: String
    ) throws {
        let fixture = try ImportFixture()
        _ = try run("{\"n\":1}\n[]\n{\"n\":2}\n", into: fixture, options(strict: true))
        let found = message { _ = try run(text, into: fixture, options(resumes: true)) }
        #expect(found.hasSuffix(expected), "\(found)")
        #expect(try fixture.documentCount() == (text.hasSuffix("2}") ? 2 : 1))
    }

    @Test(arguments: [
        ("[]x\n", "goes on within its last line, of which"), ("[]\r", "goes on within its last"),
        ("[]", "no error"), ("[]\n{\"n\":2}\n", "no error"), ("[]\r\n{\"n\":2}\n", "no error"),
    ])
    func `an input that ended without a line break may have one when it continues`(
        _ end: String, _ expected: String
    ) throws {
        let fixture = try ImportFixture()
        _ = try run("{\"n\":1}\n[]", into: fixture, options(strict: true))
        let found = message {
            let report = try run("{\"n\":1}\n" + end, into: fixture, options(resumes: true))
            #expect(report.start.offset == 10 && report.start.row == 3)
            #expect(report.badRows == [])
        }
        #expect(found.contains(expected), "\(found)")
        #expect(try fixture.documentCount() == (end.hasSuffix("2}\n") ? 2 : 1))
    }

    /// Imports lines whose identity does not depend on their length and content.
    private func run(
        _ text: String, into fixture: ImportFixture, _ options: ImportOptions
    ) throws -> ImportReport {
        let source = JSONLinesSource(
            try InputBuffer(path: try fixture.file("input", Array(text.utf8))),
            ImportIdentity(name: "input", length: nil, head: 0, options: ""))
        return try ImportRun(source, into: fixture.target, options).run()
    }

    @Test func `values after the position of a continued import keep their numbers and places`()
        throws
    {
        let (fixture, path) = try source("[{\"n\":1},\n [],\n {\"n\":2}, []]")
        let first = try fixture.run(path, .json, CSVOptions(), options(strict: true))
        let reason = "line 2, column 2: expected an object"
        #expect(first.badRows == [BadRow(row: 2, reason: reason)])
        let second = try fixture.run(path, .json, CSVOptions(), options(resumes: true))
        let later = "line 3, column 11: expected an object"
        #expect(second.badRows == [BadRow(row: 4, reason: later)])
        #expect(second.importedCount == 1)
        let (other, broken) = try source("[{},\n [],\n {} x]")
        _ = try other.run(broken, .json, CSVOptions(), options(strict: true))
        let error = message {
            _ = try other.run(broken, .json, CSVOptions(), options(resumes: true))
        }
        #expect(
            error.hasSuffix(
                "/rows, line 3, column 5: expected a comma or ] after an element of the array; "
                    + "the good rows up to value 3 were imported"), "\(error)")
    }

    @Test func `an input without a value is no JSON`() throws {
        let (fixture, path) = try source(" \n ")
        let error = message { _ = try fixture.run(path, .json) }
        #expect(error.hasSuffix("/rows, line 2, column 2: there is no JSON value"), "\(error)")
    }

    // MARK: Ids

    @Test func `the id of a row has the time, random digits and the number of the row`() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock(wallMilliseconds: 0x0123_4567_89AB).clock
        options.random = { 0xFEDC_BA98_7654_3210 }
        let fixture = try ImportFixture(options)
        // The second batch continues with the number after those of the first one.
        let count = ImportBatch.maximumRows + 3
        _ = try fixture.run(text: String(repeating: "{}\n", count: count), .jsonl)
        let expected = (0..<count).map { row in
            let digits = String(row, radix: 16)
            let zeros = String(repeating: "0", count: 10 - digits.count)
            return Value.string("0123456789ab" + "9876543210" + zeros + digits)
        }
        let found = try fixture.documents().compactMap { $0["_id"] }
        #expect(found.count == count)
        for (found, expected) in zip(found, expected) where found != expected {
            Issue.record("\(found.json) instead of \(expected.json)")
            break
        }
    }

    @Test(arguments: [ImportFormat.jsonl, .csv])
    func `a field that becomes the id is in each row, and no other id is`(
        _ format: ImportFormat
    ) throws {
        let text =
            switch format {
            case .csv: "_id,a,k\n,1,x\n2,2,y\n,3,\n"
            default: "{\"a\":1,\"k\":\"x\"}\n{\"_id\":2,\"k\":\"y\"}\n{\"a\":3}\n"
            }
        var (csv, options) = (CSVOptions(), ImportOptions())
        (csv.idName, options.idName) = ("k", "k")
        let fixture = try ImportFixture()
        let report = try fixture.run(text: text, format, csv, options)
        let first: UInt64 = format == .csv ? 2 : 1
        #expect(
            report.badRows == [
                BadRow(
                    row: first + 1,
                    reason: "the row has a field _id beside k, which becomes the _id"),
                BadRow(row: first + 2, reason: "the field k is missing"),
            ])
        #expect(try fixture.documents() == [["_id": "x", "a": 1]])
    }

    // MARK: Names of rows

    @Test func `rows and positions are named by line, value, row id or number`() {
        let zero: UInt64 = 1 << 63
        for (numbering, row, name) in [
            (RowNumbering.lines, 7, "line 7"), (.values, 7, "value 7"),
            (.rows(table: "t"), 7, "table t, row 7"),
            (.rowIDs(table: "t"), zero + 7, "table t, rowid 7"),
            (.rowIDs(table: "t"), zero - 1, "table t, rowid -1"),
            (.rowIDs(table: "t"), 0, "table t, rowid -9223372036854775808"),
            (.rowIDs(table: "t"), .max, "table t, rowid 9223372036854775807"),
        ] as [(RowNumbering, UInt64, String)] {
            #expect(numbering.name(of: row) == name)
        }
        for (numbering, row, name) in [
            (RowNumbering.lines, 3, "line 2"), (.values, 3, "value 2"),
            (.rows(table: "t"), 2, "1 row of the table t"),
            (.rows(table: "t"), 3, "2 rows of the table t"),
            (.rowIDs(table: "t"), 1, "0 rows of the table t"),
            (.rowIDs(table: "t"), 2, "1 row of the table t"),
        ] as [(RowNumbering, UInt64, String)] {
            #expect(numbering.name(before: ImportPosition(row: row)) == name)
        }
    }
}
