import SheafNetwork
import Testing

/// Tests of the times of a network loop, without the loop.
struct LoopTimeTests {
    private static let millisecond: UInt64 = 1_000_000

    @Test func `the wall clock is checked after 30 seconds, or at an earlier deadline`() {
        let now = 7 * Self.millisecond
        /// Returns the wait with deadlines after these numbers of nanoseconds and milliseconds.
        func wait(_ nanoseconds: [UInt64], wall: [UInt64] = []) -> UInt64 {
            var wait = LoopWait(atNanoseconds: now, wallMilliseconds: 500)
            for time in nanoseconds { wait.end(atNanoseconds: now + time) }
            for time in wall { wait.end(atWallMilliseconds: 500 + time) }
            return wait.milliseconds
        }
        #expect(wait([]) == 30_000)
        // A clock that was set, for example beyond the end of a grant, is noticed within it.
        let ends: [UInt64] = [29_999, 30_000, 30_001, 3_600_000]
        #expect(ends.map { wait([], wall: [$0]) } == [29_999, 30_000, 30_000, 30_000])
        let times: [UInt64] = [1, 999_999, 1_000_000, 1_999_999, 29_998_999_999, 29_999_000_000]
        #expect(times.map { wait([$0]) } == [1, 1, 2, 2, 29_999, 30_000])
        #expect(wait([30_000_000_000, 60_000_000_000]) == 30_000)
        #expect(wait([5_000_000, 3_000_000, 4_000_000], wall: [9, 8]) == 4)
        #expect(wait([5_000_000], wall: [3, 4]) == 3)
        #expect(wait([0]) == 0 && wait([], wall: [0]) == 0)
    }

    @Test func `a wait ends immediately at a time that has passed, and never at the last time`() {
        for time in [0, 99, 100] as [UInt64] {
            var wait = LoopWait(atNanoseconds: 100, wallMilliseconds: 200)
            wait.end(atNanoseconds: time)
            #expect(wait.milliseconds == 0)
            var wall = LoopWait(atNanoseconds: 100, wallMilliseconds: 200)
            wall.end(atWallMilliseconds: 2 * time)
            #expect(wall.milliseconds == 0)
        }
        var wait = LoopWait(atNanoseconds: 0, wallMilliseconds: 0, atMost: 100)
        wait.end(atNanoseconds: .max)
        wait.end(atWallMilliseconds: .max)
        #expect(wait.milliseconds == 100)
    }

    @Test func `accepting pauses for 100 ms after the process ran out of descriptors`() {
        var pause = AcceptPause()
        pause.advance(to: 5)
        #expect(pause.end == nil)
        pause.begin(at: 5)
        #expect(pause.end == 100_000_005)
        pause.advance(to: 100_000_004)
        #expect(pause.end == 100_000_005)
        pause.advance(to: 100_000_005)
        #expect(pause.end == nil)
    }
}
