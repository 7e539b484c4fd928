import SheafDocumentModel
import Testing

/// Documents that something has happened to; `sheaf-merges` and `Tests/Fuzzing` have more.
@Suite struct UntrustedTests {
    @Test func `damaged documents are refused, or keep all promises, and nothing traps`() throws {
        var laws = try DamageLaws()
        laws.check(stride: 37)
        #expect(laws.breach == nil)
        #expect(laws.count > 6_000)
    }

    @Test func `documents that are right keep all promises`() throws {
        var laws = try DamageLaws()
        laws.checkIntact()
        #expect(laws.breach == nil)
    }
}
