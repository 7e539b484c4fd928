import Sheaf
import Testing

struct StandstillTests {
    private let limit = Standstill.nanoseconds

    /// The deadlines, and whether they were reached, when somebody looks at these times.
    private func looks(
        _ looks: [(progress: UInt64?, now: UInt64)]
    ) -> [(deadline: UInt64?, isReached: Bool)] {
        var standstill = Standstill()
        return looks.map { look in
            (standstill.deadline(look.progress, at: look.now), standstill.isReached(at: look.now))
        }
    }

    @Test func `commits that come all the time do not put off that somebody is stuck`() {
        let times = Array(stride(from: 0, through: 2 * limit, by: 1_000_000))
        let answers = looks(times.map { (7, $0) })
        #expect(answers.map(\.deadline).prefix(5) == Array(repeating: limit, count: 5)[...])
        // The thread that takes over then has as much time.
        #expect(
            times.indices.filter { answers[$0].isReached }.map { times[$0] } == [limit, 2 * limit])
    }

    @Test func `who moves, or has nothing to do, is not stuck`() {
        let answers = looks([
            (nil, 0), (nil, 9 * limit), (1, 10 * limit), (2, 11 * limit), (2, 12 * limit - 1),
            (nil, 12 * limit), (3, 20 * limit), (3, 21 * limit),
        ])
        let deadlines: [UInt64?] = [nil, nil, 11, 12, 12, nil, 21, 21]
        #expect(answers.map(\.deadline) == deadlines.map { number in number.map { $0 * limit } })
        #expect(answers.map(\.isReached) == Array(repeating: false, count: 7) + [true])
    }
}
