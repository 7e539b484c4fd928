import SheafDocument
import SheafTransfer
import Testing

/// Lines of JSON with more bytes than an import reads.
@Suite struct LineLimitTests {
    @Test func `a line that is too long is a bad row, and the next line has the next number`()
        throws
    {
        let fixture = try ImportFixture()
        let text = """
            {"_id":1}
            {"_id":2,"s":"zzzzz"}
            {"_id":3}
            {"_id":4,"s":"zzzz"}
            [5]
            {"_id":6,"s":"zzzzzzzzzzzzzz"}
            """
        let source = JSONLinesSource(
            try InputBuffer(path: try fixture.file("rows", Array(text.utf8))),
            ImportIdentity(name: "rows", length: nil, head: 0, options: ""), maximumLineLength: 20)
        let report = try ImportRun(source, into: fixture.target, ImportOptions()).run()
        let long = "the line has more than 20 bytes"
        #expect(
            report.badRows.sorted { $0.row < $1.row } == [
                BadRow(row: 2, reason: long),
                BadRow(row: 5, reason: "column 1: expected an object"),
                BadRow(row: 6, reason: long),
            ])
        #expect(try fixture.documents().map { $0["_id"] } == [1, 3, 4])
    }
}
