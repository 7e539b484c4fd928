import SheafHubLog
import Testing

/// Tests of the broadcasts that wait while an engine cannot send them.
@Suite struct WaitingBroadcastTests {
    @Test(arguments: [1_023, 1_024, 1_025, 3_000])
    func `the newest 1,024 broadcasts wait to be sent`(_ count: Int) {
        var broadcasts = WaitingBroadcasts<Int>()
        let all = Array(0..<count)
        for broadcast in all { broadcasts.add(broadcast) }
        #expect(!broadcasts.isEmpty)
        let waiting = broadcasts.take()
        #expect(waiting == Array(all.suffix(1_024)))
        #expect(broadcasts.isEmpty)
        // Broadcasts that were taken do not count.
        broadcasts.add(count)
        let next = broadcasts.take()
        #expect(next == [count])
    }
}
