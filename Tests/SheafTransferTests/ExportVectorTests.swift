import SheafStatements
import SheafTestSupport
import SheafTransfer
import Testing

@Suite struct ExportVectorTests {
    @Test func `an import of each vector gives its documents, and the same export`() throws {
        let vectors = try FormatVectors("export.txt")
        try vectors.forEach("text") { name, text in
            let fixture = ExportFixture()
            try fixture.importFull(text)
            #expect(try fixture.fullExport() == text, "\(name)")
            #expect(
                try "\(fixture.checksum().contents)" == vectors.text("\(name).contents"),
                "\(name)")
            let lines = try fixture.read { queries, _ in
                try RowSource.collections(of: queries.snapshot()).map { collection in
                    try fixture.text(.jsonl, of: collection)
                }
            }
            #expect(try lines.joined() == vectors.text("\(name).json"), "\(name)")
        }
    }

    @Test func `each malformed vector is refused, with the number of its line`() throws {
        let vectors = try FormatVectors("export.txt")
        try vectors.forEach("refused") { name, text in
            let error = #expect(throws: ImportError.self, "\(name)") {
                try ExportFixture().importFull(text)
            }
            guard case .source(let message)? = error else {
                Issue.record("\(name): \(String(describing: error))")
                return
            }
            let line = try vectors.number("\(name).line")
            if line > 0 {
                #expect(message.contains(", line \(line): "), "\(name): \(message)")
            } else {
                #expect(!message.contains(", line "), "\(name): \(message)")
            }
        }
    }
}
