import SheafConformance
import Testing

/// The conformance cases of the query language.
@Suite struct ConformanceTests {
    @Test(arguments: try ConformanceFolder.names())
    func `all statements produce the expected results of their cases`(_ name: String) throws {
        let failures = try ConformanceRun.failures(of: try ConformanceFolder.file(name))
        #expect(failures.isEmpty, "\(failures.map(\.description).joined(separator: "\n"))")
    }

    @Test func `the conformance suite has at least 1,000 cases`() throws {
        var count = 0
        for name in try ConformanceFolder.names() {
            count += try ConformanceFolder.file(name).cases.count
        }
        #expect(count >= 1_000)
    }
}
