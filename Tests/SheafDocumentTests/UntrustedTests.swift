import SheafDocumentModel
import SheafTestSupport
import Testing

/// Corrupted documents; see also `sheaf-check merges` and `Tests/Fuzzing`.
@Suite struct UntrustedTests {
    @Test func `the fuzzer starts with an input for each aspect of a document`() throws {
        let script = try ProjectFile.text("Tests/Fuzzing/run")
        let count = try #require(script.firstMatch(of: /ASPECTS = (\d+)/)).1
        #expect(Int(count) == DocumentProbe.Aspect.all.count)
    }

    @Test func `a corrupted document is refused or satisfies all invariants`() throws {
        var laws = try DamageLaws()
        laws.check(stride: 37)
        #expect(laws.violation == nil)
        #expect(laws.count > 6_000)
    }

    @Test func `a valid document satisfies all invariants`() throws {
        var laws = try DamageLaws()
        laws.checkIntact()
        #expect(laws.violation == nil)
    }
}
