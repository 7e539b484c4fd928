import SheafHubEngine
import SheafHubLog
import SheafSystem
import SheafTestSupport
import Testing

/// The limits of what an engine has to deliver to a hub.
@Suite struct HubEventThreadTests {
    /// A host that waits in its first event, and counts broadcasts until the last event.
    private final class WaitingHost: HubLogHost {
        struct State {
            var isEntered = false
            var isReleased = false
            var isOver = false
            var broadcasts = 0
        }

        let state = Monitor(State())

        func stored(_ id: HubMessageID, as entry: UInt64) {}
        func failed(_ id: HubMessageID, _ error: HubLogError) {}
        func received(_ entries: [HubLogEntry], of shard: HubShard) {}
        func received(broadcast: [UInt8]) { state.withLock { $0.broadcasts += 1 } }

        func connected() {
            state.withLock { $0.isEntered = true }
            state.broadcast()
            state.wait(until: Clock.testDeadline(), while: { !$0.isReleased })
        }

        func disconnected(_ error: HubLogError) {
            state.withLock { $0.isOver = true }
            state.broadcast()
        }
    }

    @Test func `of more than 65,536 waiting events, only broadcasts are lost`()
        throws
    {
        let host = WaitingHost()
        let thread = try HubEventThread(host)
        thread.post(.connected)
        host.state.wait(until: Clock.testDeadline(), while: { !$0.isEntered })
        for _ in 0...HubEventThread.waitingEvents { thread.post(.broadcast([])) }
        thread.post(.disconnected(.timeout("an answer")))
        host.state.withLock { $0.isReleased = true }
        host.state.broadcast()
        host.state.wait(until: Clock.testDeadline(), while: { !$0.isOver })
        thread.stop()
        #expect(host.state.withLock { $0.broadcasts } == 65_536)
    }

    @Test func `bytes are delivered up to the credit, or one entry of any length`() {
        var credit = ShardCredit(limit: 100)
        let first = [60, 41, 40, 1].map { credit.take($0) }
        #expect(first == [true, false, true, false])
        credit.consumed(1)
        let second = [2, 1].map { credit.take($0) }
        #expect(second == [false, true])
        // No byte is unread, so an entry of any length is delivered.
        credit.consumed(100)
        let third = [1_000].map { credit.take($0) }
        #expect(third == [true])
        credit.consumed(999)
        let fourth = [100, 99].map { credit.take($0) }
        #expect(fourth == [false, true])
    }
}
