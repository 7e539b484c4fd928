import SheafNetwork
import SheafTestSupport
import Testing

/// Tests of the times that the network loop waits for: deadlines, and delays between attempts.
struct TimeQueueTests {
    @Test func `the earliest time is first`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("queues of times, seed \(seed)")
        var random = SeededRandom(seed: seed, "times")
        for _ in 0..<20 {
            var queue = TimeQueue()
            var model: [[UInt64]] = []
            for channel in 0..<100 as Range<UInt64> {
                if model.isEmpty || random.chance(2, in: 3) {
                    let time = UInt64(random.below(40))
                    queue.insert(time, of: channel)
                    model.append([time, channel])
                } else {
                    let entry = queue.first.map { [$0.time, $0.channel] } ?? []
                    let index = model.firstIndex(of: entry)
                    #expect(entry.first == model.map { $0[0] }.min(), "seed \(seed)")
                    #expect(index != nil, "seed \(seed)")
                    if let index { model.remove(at: index) }
                    queue.removeFirst()
                }
            }
            var rest: [UInt64] = []
            while let entry = queue.first {
                rest.append(entry.time)
                queue.removeFirst()
            }
            #expect(rest == model.map { $0[0] }.sorted(), "seed \(seed)")
        }
    }

    private func limits(_ first: Int, _ longest: Int) -> NetworkLimits {
        var limits = NetworkLimits()
        (limits.firstRetryMilliseconds, limits.longestRetryMilliseconds) = (first, longest)
        return limits
    }

    /// Returns the first delays of a backoff.
    private func delays(_ first: Int, _ longest: Int, _ random: UInt64) -> [Int] {
        var backoff = Backoff(limits(first, longest))
        return (0..<6).map { _ in backoff.milliseconds(drawing: random) }
    }

    @Test func `a delay is random between half of its maximum and all of it`() {
        #expect(delays(100, 1_000, 0) == [50, 100, 200, 400, 500, 500])
        #expect(delays(100, 1_000, 7) == [57, 107, 207, 407, 507, 507])
        // The range of the first delay has 51 numbers.
        #expect(delays(100, 100, 50) == [100, 100, 100, 100, 100, 100])
        #expect(delays(100, 100, 51) == [50, 50, 50, 50, 50, 50])
        #expect(delays(7, 7, 4) == [7, 7, 7, 7, 7, 7])
        #expect(delays(100, 20, 0) == [50, 50, 50, 50, 50, 50])
        #expect(delays(0, 0, 1) == [1, 1, 1, 1, 1, 1])
        #expect(delays(-5, 4, 0) == [0, 1, 2, 2, 2, 2])
    }

    @Test func `a success resets the delay`() {
        var backoff = Backoff(limits(100, 1_000))
        for expected in [50, 100] {
            let delay = backoff.milliseconds(drawing: 0)
            #expect(delay == expected)
        }
        backoff.reset()
        let delay = backoff.milliseconds(drawing: 0)
        #expect(delay == 50)
    }
}
