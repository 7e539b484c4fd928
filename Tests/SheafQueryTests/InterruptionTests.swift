import SheafDocument
import SheafQuery
import Synchronization
import Testing

/// The time after which a statement ends.
@Suite struct InterruptionTests {
    /// A time in nanoseconds that the test sets.
    private final class Time: Sendable {
        private let nanoseconds = Mutex<UInt64>(0)

        init(_ start: UInt64) { set(start) }

        var now: UInt64 { nanoseconds.withLock { $0 } }

        func set(_ time: UInt64) { nanoseconds.withLock { $0 = time } }
    }

    /// Returns the error that ends a statement at a time, if any.
    private func failure(_ interruption: Interruption) -> StoreError? {
        do throws(StoreError) { try interruption.check() } catch { return error }
        return nil
    }

    @Test(arguments: [1, 3, 86_400, 4_000_000_000] as [Int64])
    func `a statement ends when its time is over, and not before`(seconds: Int64) {
        let start: UInt64 = 5_000_000_007
        let time = Time(start)
        let interruption = Interruption(seconds: seconds) { time.now }
        let limit = UInt64(seconds) * 1_000_000_000
        for elapsed in [0, 1, limit / 2, limit - 1] {
            time.set(start + elapsed)
            #expect(failure(interruption) == nil, "\(elapsed) ns")
        }
        for elapsed in [limit, limit + 1, 2 * limit] {
            time.set(start + elapsed)
            let error = failure(interruption)
            #expect(error?.reason == .timedOut, "\(elapsed) ns")
            #expect(error?.message == "the statement exceeded its time limit of \(seconds) s")
            #expect(error?.hint?.contains("dql_request_timeout_seconds") == true)
        }
    }

    @Test(arguments: [0, -1, .min, 18_446_744_074, .max] as [Int64])
    func `a statement without a time limit, or with one beyond the clock, does not end`(
        seconds: Int64
    ) {
        let time = Time(1)
        let interruption = Interruption(seconds: seconds) { time.now }
        for now in [1, 1_000_000_001, .max] as [UInt64] {
            time.set(now)
            #expect(failure(interruption) == nil, "\(now)")
        }
    }
}
