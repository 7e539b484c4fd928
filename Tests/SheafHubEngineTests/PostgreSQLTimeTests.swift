import SheafHubPostgreSQL
import Testing

/// The times of the threads of a hub log in PostgreSQL, which need no server.
@Suite struct PostgreSQLTimeTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 7

    private func expect(
        _ work: PeriodicWork, everySeconds seconds: UInt64,
        _ location: SourceLocation = #_sourceLocation
    ) {
        var work = work
        for round in UInt64(1)...3 {
            let due = Self.start + round * seconds * Self.second
            #expect(!work.isDue(at: due - 1), sourceLocation: location)
            #expect(work.isDue(at: due), sourceLocation: location)
            #expect(work.next == due, sourceLocation: location)
            work.finish(at: due)
        }
    }

    @Test func `a follower that is not notified queries the server every second`() {
        expect(.queries(from: Self.start), everySeconds: 1)
    }

    @Test func `old broadcasts are removed every thirty seconds`() {
        expect(.removals(from: Self.start), everySeconds: 30)
    }

    @Test func `a server that sends nothing is disconnected after thirty seconds`() {
        let deadline = ResponseDeadline(from: Self.start)
        let end = Self.start + 30 * Self.second
        #expect(!deadline.hasPassed(at: end - 1))
        #expect(deadline.hasPassed(at: end))
        #expect(deadline.time == end)
    }

    @Test func `a connection is tried again after 50 ms, and at last every two seconds`() {
        var pauses = ConnectionPauses()
        for milliseconds in [50, 100, 200, 400, 800, 1_600, 2_000, 2_000] as [UInt64] {
            let end = pauses.begin(at: Self.start)
            #expect(end == Self.start + milliseconds * 1_000_000)
        }
    }
}
