import SheafHubPostgreSQL
import Testing

/// The notices of a server of PostgreSQL, which need no server.
@Suite struct ServerWarningTests {
    @Test func `a warning counts for one request, and other notices count for none`() {
        let warnings = ServerWarnings()
        func requests(after severities: String...) -> [Bool] {
            for severity in severities { warnings.record(severity: severity) }
            return [warnings.take(), warnings.take()]
        }
        #expect(requests() == [false, false])
        #expect(requests(after: "NOTICE", "INFO", "LOG", "DEBUG") == [false, false])
        #expect(requests(after: "WARNING") == [true, false])
        #expect(requests(after: "WARNING", "NOTICE", "WARNING") == [true, false])
    }
}
