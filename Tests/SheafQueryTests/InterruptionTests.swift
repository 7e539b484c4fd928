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

    @Test func `without a meter, only long values are checked for the end of a statement`() {
        let time = Time(0)
        let context = FunctionContext(
            now: 0, interruption: Interruption(seconds: 1) { time.now })
        time.set(1_000_000_000)
        func ends(_ charge: () throws(StoreError) -> Void) -> Bool {
            do throws(StoreError) { try charge() } catch { return error.reason == .timedOut }
            return false
        }
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        func list(_ count: Int) -> Value { .array(Array(repeating: 1, count: count)) }
        func object(_ count: Int) -> Value {
            .object(Object((0..<count).map { ("f\($0)", Value.integer(1)) }))
        }
        let values: [(Value, isLong: Bool)] = [
            (.string(text(4_096)), false), (.string(text(4_097)), true), (list(256), false),
            (list(257), true), (object(256), false), (object(257), true), (1, false),
        ]
        for (value, isLong) in values {
            let more: [Value?] = [nil, value]
            let found = [
                ends { () throws(StoreError) in try context.charge(value) },
                ends { () throws(StoreError) in try context.charge(more) },
                ends { () throws(StoreError) in try context.charge(value, nil) },
                ends { () throws(StoreError) in try context.charge(nil, value) },
            ]
            #expect(found == [isLong, isLong, isLong, isLong])
        }
        for (count, isLong) in [(4_096, false), (4_097, true)] {
            let subject = text(count)
            let found = ends { () throws(StoreError) in
                try context.charge(pattern: 1, on: subject)
            }
            #expect(found == isLong)
        }
    }

    @Test func `a check charges a meter with 4,096 units`() {
        let meter = EvaluationMeter(10_000)
        let interruption = Interruption(meter)
        let timeout = Interruption(seconds: 1) { 0 }
        #expect(interruption.isMetered && !timeout.isMetered)
        #expect(failure(interruption) == nil && meter.units == 5_904)
        #expect(failure(interruption) == nil && meter.units == 1_808)
        #expect(failure(interruption)?.reason == .limit)
    }
}
