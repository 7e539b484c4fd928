import SheafSimulator
import Testing

/// A share of what `sheaf-simulate faults` and `quotas` do in release.
@Suite struct FaultSweepTests {
    private let sweep = FaultSweep(seed: 5)

    @Test func `a call that fails is a typed error, and loses nothing that was acknowledged`()
        throws
    {
        let calls = try sweep.measure().calls
        #expect(calls >= 300)
        let cases = FaultSweep.cases(calls: calls)
        var errors = 0
        // A step that has no factor in common with the cases of one call meets all of them.
        for index in stride(from: 0, to: cases.count, by: 7) {
            errors += try sweep.run(cases[index])
        }
        #expect(errors > cases.count / 7)
    }

    @Test func `a full disk refuses commits, and loses nothing that was acknowledged`() throws {
        let bytes = try sweep.measure().bytes
        var errors = 0
        for quota in stride(from: 0, to: bytes, by: 257) { errors += try sweep.run(quota: quota) }
        #expect(errors > bytes / 257)
    }
}
