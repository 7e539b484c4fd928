import SheafTransfer
import Testing

@Suite struct ExportFormatTests {
    @Test(arguments: [
        ("a.jsonl", ExportFormat.jsonl), ("a.NDJSON", .jsonl), ("dir.csv/a.json", .json),
        ("a.b.csv", .csv), ("x.db", .sqlite), ("x.sqlite3", .sqlite), ("x.md", .markdown),
    ]) func `the format of a file is that of its extension`(path: String, format: ExportFormat) {
        #expect(ExportFormat(ofFile: path) == format)
    }

    @Test(arguments: ["a", "dir.csv/a", ".csv", "a.txt", "a.", ""])
    func `other names have no format`(path: String) {
        #expect(ExportFormat(ofFile: path) == nil)
    }
}
