import SheafStorage
import Testing

/// The core that a background thread offers to other threads.
@Suite struct BackgroundWorkTests {
    @Test func `the core is offered once for each interval of processed bytes`() {
        var yields = 0
        var work = BackgroundWork { yields += 1 }
        for _ in 0..<BackgroundWork.interval / 64 - 1 { work.record(64) }
        #expect(yields == 0)
        work.record(64)
        #expect(yields == 1)
        for _ in 0..<100 { work.record(BackgroundWork.interval / 4) }
        #expect(yields == 26)
        work.record(10 * BackgroundWork.interval)
        #expect(yields == 27)
    }
}
