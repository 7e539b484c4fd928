import SheafStorage
import Testing

/// The intervals at which a background thread yields the processor.
@Suite struct PeriodicYieldTests {
    @Test func `the thread yields once for each interval of processed bytes`() {
        var yields = 0
        var work = PeriodicYield { yields += 1 }
        for _ in 0..<PeriodicYield.interval / 64 - 1 { work.record(64) }
        #expect(yields == 0)
        work.record(64)
        #expect(yields == 1)
        for _ in 0..<100 { work.record(PeriodicYield.interval / 4) }
        #expect(yields == 26)
        work.record(10 * PeriodicYield.interval)
        #expect(yields == 27)
    }
}
