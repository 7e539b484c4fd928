import Sheaf
import Testing

struct StallDetectorTests {
    private let limit = StallDetector.timeoutNanoseconds

    /// Returns the deadline and the outcome of each check.
    private func looks(
        _ looks: [(progress: UInt64?, now: UInt64)]
    ) -> [(deadline: UInt64?, isReached: Bool)] {
        var standstill = StallDetector()
        return looks.map { check in
            (
                standstill.deadline(check.progress, at: check.now),
                standstill.hasStalled(at: check.now)
            )
        }
    }

    @Test func `frequent checks do not delay the detection of a stall`() {
        let times = Array(stride(from: 0, through: 2 * limit, by: 1_000_000))
        let outcomes = looks(times.map { (7, $0) })
        #expect(outcomes.map(\.deadline).prefix(5) == Array(repeating: limit, count: 5)[...])
        // The thread that takes over gets the same timeout.
        #expect(
            times.indices.filter { outcomes[$0].isReached }.map { times[$0] } == [limit, 2 * limit])
    }

    @Test func `a thread with progress or without work is not stalled`() {
        let outcomes = looks([
            (nil, 0), (nil, 9 * limit), (1, 10 * limit), (2, 11 * limit), (2, 12 * limit - 1),
            (nil, 12 * limit), (3, 20 * limit), (3, 21 * limit),
        ])
        let deadlines: [UInt64?] = [nil, nil, 11, 12, 12, nil, 21, 21]
        #expect(outcomes.map(\.deadline) == deadlines.map { number in number.map { $0 * limit } })
        #expect(outcomes.map(\.isReached) == Array(repeating: false, count: 7) + [true])
    }
}
