import SheafStore
import Testing

/// The runs at which a result that had too many rows is maintained incrementally again.
@Suite struct ViewAttemptsTests {
    @Test func `a view is tried at each run, except for the 64 runs after a failure`() {
        var attempts = ViewAttempts()
        for _ in 0..<3 {
            let isTried = attempts.begin()
            #expect(isTried)
        }
        for _ in 0..<3 {
            attempts.pause()
            var pausedRuns = 0
            while pausedRuns < 1_000, !attempts.begin() { pausedRuns += 1 }
            #expect(pausedRuns == 64)
        }
        let isTried = attempts.begin()
        #expect(isTried)
    }
}
