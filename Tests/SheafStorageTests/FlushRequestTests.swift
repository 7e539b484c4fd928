import SheafStorage
import Testing

/// The time at which relaxed commits are flushed.
@Suite struct FlushRequestTests {
    private static let start: UInt64 = 5_000_000_007

    /// Returns a request after the first commit at `start`.
    private func request(within milliseconds: Int) -> FlushRequest {
        var request = FlushRequest()
        let isFirst = request.flush(within: milliseconds, at: Self.start)
        #expect(isFirst)
        return request
    }

    @Test(arguments: [1, 2, 1_000, 86_400_000, 31_536_000_000])
    func `relaxed commits are flushed when the interval after the first one is over`(
        milliseconds: Int
    ) {
        var request = request(within: milliseconds)
        let interval = UInt64(milliseconds) * 1_000_000
        for part in [0, interval / 2, interval / 1_000 * 999, interval - 1] {
            // Later commits neither extend nor shorten the interval.
            let isFirst = request.flush(within: milliseconds, at: Self.start + part)
            let begun = request.begin(at: Self.start + part)
            #expect(!isFirst && begun == nil, "\(part) ns")
            #expect(request.deadline == Self.start + interval)
        }
        let begun = request.begin(at: Self.start + interval)
        #expect(begun == true && request.deadline == nil)
        // The next interval begins with the next commit.
        let later = Self.start + 3 * interval
        #expect(request.begin(at: later) == nil)
        let isFirst = request.flush(within: milliseconds, at: later)
        #expect(isFirst)
        #expect(request.begin(at: later + interval - 1) == nil)
        #expect(request.begin(at: later + interval + 1) == true)
    }

    @Test func `relaxed commits are flushed within a year, and at once without an interval`() {
        let year: UInt64 = 31_536_000_000_000_000
        for (milliseconds, interval) in [
            (31_535_999_999, year - 1_000_000), (31_536_000_000, year), (31_536_000_001, year),
            (.max, year), (0, 0), (-1, 0), (.min, 0),
        ] as [(Int, UInt64)] {
            let request = request(within: milliseconds)
            #expect(request.deadline == Self.start + interval, "\(milliseconds) ms")
        }
    }

    @Test func `an urgent flush begins before the interval is over, and ends it`() {
        var request = request(within: 1_000)
        request.isUrgent = true
        #expect(request.begin(at: Self.start) == true)
        #expect(request.deadline == nil)
        #expect(request.begin(at: .max) == nil)
    }

    @Test func `the end of the thread precedes a due flush`() {
        var request = request(within: 0)
        request.isUrgent = true
        request.isStopping = true
        #expect(request.begin(at: .max) == false)
    }
}
