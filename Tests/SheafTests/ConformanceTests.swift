import SheafConformance
import Testing

/// The cases of the query language.
@Suite struct ConformanceTests {
    @Test(arguments: try ConformanceFolder.names())
    func `statements do what their cases say`(_ name: String) throws {
        let failures = try ConformanceRun.failures(of: try ConformanceFolder.file(name))
        #expect(failures.isEmpty, "\(failures.map(\.description).joined(separator: "\n"))")
    }

    @Test func `there are enough cases`() throws {
        var count = 0
        for name in try ConformanceFolder.names() {
            count += try ConformanceFolder.file(name).cases.count
        }
        #expect(count >= 1_000)
    }
}
