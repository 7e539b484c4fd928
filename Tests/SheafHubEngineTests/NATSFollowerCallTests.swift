import SheafHubEngine
import SheafHubLog
import SheafHubNATS
import Testing

/// Tests of what each call of a hub, and each message, changes in the consumer of a shard.
@Suite struct NATSFollowerCallTests {
    private static let second: UInt64 = 1_000_000_000
    /// A follower from entry 1, whose subscription 7 was begun at 0 seconds.
    private var follower: NATSFollower

    init() {
        follower = NATSFollower(unreadLength: 100)
        follower.follow(from: 1, at: 0)
        #expect(follower.action(at: 0) == .subscribe)
        follower.subscribed(7, at: 0)
    }

    private mutating func receive(_ entry: UInt64, length: Int = 60, at now: UInt64 = 0) {
        follower.received(
            NATSDelivery(entry: entry, sequence: entry), [UInt8](repeating: 0, count: length),
            at: now)
    }

    private mutating func beat(at now: UInt64) {
        follower.receivedHeartbeat(lastSequence: nil, stalled: nil, at: now)
    }

    @Test mutating func `another call of follow discards the entries that wait`() {
        receive(1)
        receive(2)
        follower.received(flowReply: "flow", at: 0)
        #expect(follower.takeEntries().map(\.number) == [1])
        follower.follow(from: 9, at: 3)
        follower.consumed(60)
        #expect(follower.next == 9 && follower.isFollowing && follower.subscription == nil)
        #expect(follower.takeEntries().isEmpty)
        #expect(follower.takeFlowReply() == nil)
        #expect(follower.action(at: 2) == .nothing)
        #expect(follower.action(at: 3) == .subscribe)
        // It is due again after 0.5 s, unless there is a subscription.
        #expect(follower.action(at: 500_000_002) == .nothing)
        #expect(follower.action(at: 500_000_003) == .subscribe)
        follower.follow(from: 0, at: 4)
        #expect(follower.next == 1)
    }

    @Test mutating func `a shard that is not followed has no entries and no work`() {
        receive(1)
        receive(2)
        follower.received(flowReply: "flow", at: 0)
        #expect(follower.takeEntries().map(\.number) == [1])
        follower.unfollow()
        follower.consumed(60)
        #expect(follower.takeEntries().isEmpty)
        #expect(follower.takeFlowReply() == nil)
        follower.resubscribe(at: 0)
        follower.failed(7, at: 0)
        #expect(!follower.isFollowing && follower.subscription == nil)
        #expect(follower.action(at: 100 * Self.second) == .nothing)
    }

    @Test mutating func `a failure of another subscription has no effect`() {
        follower.failed(8, at: 0)
        #expect(follower.subscription == 7)
        follower.failed(7, at: 0)
        #expect(follower.subscription == nil && follower.isFollowing)
    }

    @Test mutating func `an entry has its bytes and its time, and the next one never goes back`() {
        follower.received(
            NATSDelivery(entry: 4, sequence: 1, wallMilliseconds: 9), [5, 6], at: 0)
        #expect(follower.next == 5)
        follower.received(NATSDelivery(entry: 2, sequence: 2), [7], at: 0)
        #expect(follower.next == 5)
        let expected = [HubLogEntry(4, [5, 6], storedAt: 9), HubLogEntry(2, [7])]
        #expect(follower.takeEntries() == expected)
    }

    @Test mutating func `an entry with the largest number is counted, and not delivered`() {
        follower.received(NATSDelivery(entry: .max, sequence: 1), [1], at: 0)
        #expect(follower.next == 1)
        #expect(follower.takeEntries().isEmpty)
        follower.received(NATSDelivery(entry: 1, sequence: 2), [2], at: 0)
        #expect(follower.subscription == 7)
        #expect(follower.takeEntries().map(\.number) == [1])
    }

    @Test mutating func `flow control is answered once, and never after another subscription`() {
        follower.receivedHeartbeat(lastSequence: nil, stalled: "a", at: 0)
        #expect(follower.takeFlowReply() == "a")
        follower.received(flowReply: "b", at: 0)
        follower.receivedHeartbeat(lastSequence: 0, stalled: nil, at: 0)
        #expect(follower.takeFlowReply() == "b")
        #expect(follower.takeFlowReply() == nil)
        follower.received(flowReply: "c", at: 0)
        follower.receivedHeartbeat(lastSequence: 1, stalled: "d", at: 0)
        #expect(follower.subscription == nil)
        #expect(follower.takeFlowReply() == nil)
        follower.received(flowReply: "e", at: 0)
        follower.subscribed(8, at: 0)
        #expect(follower.subscription == 8)
        #expect(follower.takeFlowReply() == nil)
    }

    @Test mutating func `a silent consumer is replaced, and not answered any more`() {
        follower.received(flowReply: "flow", at: 0)
        #expect(follower.action(at: 3_500_000_001) == .subscribe)
        #expect(follower.subscription == nil)
        #expect(follower.takeFlowReply() == nil)
        #expect(follower.action(at: 4_000_000_000) == .nothing)
        #expect(follower.action(at: 4_000_000_001) == .subscribe)
    }

    @Test func `attempts are 0.5 s apart again after a message, and after a lost connection`() {
        for cause in ["entry", "heartbeat", "connection"] {
            var test = NATSFollowerCallTests()
            for number in 7...8 as ClosedRange<UInt> {
                test.follower.failed(number, at: 0)
                test.follower.subscribed(number + 1, at: 0)
            }
            switch cause {
            case "entry":
                test.receive(1)
                test.follower.failed(9, at: 0)
            case "heartbeat":
                test.beat(at: 0)
                test.follower.failed(9, at: 0)
            default:
                test.follower.resubscribe(at: 0)
                let now = test.follower.action(at: 0)
                #expect(now == .subscribe)
            }
            let early = test.follower.action(at: 499_999_999)
            #expect(early == .nothing, "\(cause)")
            let due = test.follower.action(at: 500_000_000)
            #expect(due == .subscribe, "\(cause)")
        }
    }

    // MARK: The end of the stream

    @Test mutating func `the end of a stream is compared once no entry waits`() {
        receive(1)
        receive(2)
        #expect(follower.takeEntries().map(\.number) == [1])
        beat(at: 3 * Self.second)
        #expect(follower.action(at: 4 * Self.second) == .nothing)
        follower.consumed(60)
        #expect(follower.takeEntries().map(\.number) == [2])
        #expect(follower.action(at: 4 * Self.second) == .check)
        // The last entry was delivered.
        follower.checked(last: 2, at: 4 * Self.second)
        beat(at: 6 * Self.second)
        #expect(follower.action(at: 6 * Self.second) == .nothing)
        // The next one was not.
        follower.checked(last: 3, at: 6 * Self.second)
        beat(at: 7 * Self.second)
        #expect(follower.action(at: 7_500_000_000) == .nothing)
        #expect(follower.action(at: 7_500_000_001) == .subscribe)
    }

    @Test mutating func `a consumer that has delivered an entry is kept`() {
        follower.checked(last: 5, at: 0)
        receive(1, at: Self.second)
        #expect(follower.takeEntries().map(\.number) == [1])
        #expect(follower.action(at: 2 * Self.second) == .nothing)
        // An entry that waits shows that the consumer delivers.
        receive(2, at: 2 * Self.second)
        follower.checked(last: 5, at: 2 * Self.second)
        beat(at: 3 * Self.second)
        #expect(follower.action(at: 3_500_000_001) == .nothing)
        follower.consumed(60)
        #expect(follower.takeEntries().map(\.number) == [2])
        #expect(follower.action(at: 4 * Self.second) == .nothing)
        #expect(follower.subscription == 7)
    }

    @Test mutating func `another subscription has its own time to deliver an entry`() {
        follower.checked(last: 5, at: 0)
        follower.subscribed(8, at: Self.second)
        beat(at: 3 * Self.second)
        #expect(follower.action(at: 3 * Self.second) == .nothing)
        follower.checked(last: 5, at: 3 * Self.second)
        #expect(follower.action(at: 4_500_000_000) == .nothing)
        #expect(follower.action(at: 4_500_000_001) == .subscribe)
    }

    @Test mutating func `an entry, and another subscription, begin the comparisons anew`() {
        for due in [4, 12] as [UInt64] {
            beat(at: (due - 1) * Self.second)
            #expect(follower.action(at: due * Self.second) == .check)
        }
        receive(1, at: 13 * Self.second)
        #expect(follower.takeEntries().map(\.number) == [1])
        beat(at: 16 * Self.second)
        #expect(follower.action(at: 17 * Self.second - 1) == .nothing)
        #expect(follower.action(at: 17 * Self.second) == .check)
        follower.subscribed(8, at: 20 * Self.second)
        beat(at: 23 * Self.second)
        #expect(follower.action(at: 24 * Self.second - 1) == .nothing)
        #expect(follower.action(at: 24 * Self.second) == .check)
        // The deliveries of another consumer are numbered from 1 on.
        follower.received(NATSDelivery(entry: 2, sequence: 1), [0], at: 24 * Self.second)
        #expect(follower.subscription == 8 && follower.next == 3)
    }

    @Test mutating func `an entry that is read again counts as unread`() {
        let isAdmitted = [follower.take(100), follower.take(1)]
        #expect(isAdmitted == [true, false])
        follower.consumed(1)
        let isAdmittedThen = [follower.take(1), follower.take(1)]
        #expect(isAdmittedThen == [true, false])
    }
}
