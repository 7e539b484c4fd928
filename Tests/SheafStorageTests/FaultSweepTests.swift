import SheafSimulator
import Testing

/// A sample of `sheaf-check simulate faults` and `quotas`, of which `.ci/run` runs more.
@Suite struct FaultSweepTests {
    private let sweep = FaultSweep(seed: 5)

    @Test func `a failed call throws a typed error and loses no acknowledged commit`()
        throws
    {
        let calls = try sweep.measure().calls
        #expect(calls >= 300)
        let cases = FaultSweep.cases(calls: calls)
        var errors = 0
        // 21 is coprime to the number of cases per call, so all kinds of cases occur.
        let offset = Int.random(in: 0..<21)
        print("failing calls from case \(offset)")
        for index in stride(from: offset, to: cases.count, by: 21) {
            errors += try sweep.run(cases[index])
        }
        #expect(errors > cases.count / 21)
    }

    @Test func `a full disk refuses commits and loses no acknowledged commit`() throws {
        let bytes = try sweep.measure().bytes
        var errors = 0
        for quota in stride(from: 0, to: bytes, by: 521) { errors += try sweep.run(quota: quota) }
        #expect(errors > bytes / 521)
    }
}
