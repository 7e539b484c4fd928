import SheafBytes
import SheafHubEngine
import SheafHubLog
import SheafHubNATS
import Testing

@Suite struct NATSFollowerTests {
    private static let second: UInt64 = 1_000_000_000
    /// A follower from entry 1, whose subscription 7 was begun at 0 seconds.
    private var follower: NATSFollower

    init() {
        follower = NATSFollower(unreadLength: 100)
        follower.follow(from: 1, at: 0)
        #expect(follower.action(at: 0) == .subscribe)
        follower.subscribed(7, at: 0)
    }

    private mutating func receive(_ entries: ClosedRange<UInt64>, length: Int, at now: UInt64) {
        for entry in entries {
            follower.received(
                NATSDelivery(entry: entry, sequence: entry), [UInt8](repeating: 0, count: length),
                at: now)
        }
    }

    @Test mutating func `entries wait for credit and flow control waits for them`() {
        receive(1...3, length: 40, at: 0)
        follower.received(flowReply: "flow", at: 0)
        #expect(follower.takeEntries().map(\.number) == [1, 2])
        #expect(follower.takeEntries().isEmpty)
        #expect(follower.takeFlowReply() == nil)
        follower.consumed(40)
        #expect(follower.takeEntries().map(\.number) == [3])
        #expect(follower.takeFlowReply() == "flow")
        #expect(follower.takeFlowReply() == nil)
    }

    @Test mutating func `a missing delivery replaces the consumer at the next entry`() {
        receive(1...2, length: 1, at: 0)
        follower.received(NATSDelivery(entry: 4, sequence: 4), [0], at: Self.second)
        #expect(follower.subscription == nil)
        #expect(follower.takeEntries().map(\.number) == [1, 2])
        #expect(follower.next == 3)
        #expect(follower.action(at: Self.second) == .subscribe)
    }

    @Test mutating func `a heartbeat after a lost entry replaces the consumer`() {
        receive(1...2, length: 1, at: 0)
        follower.receivedHeartbeat(lastSequence: 2, stalled: nil, at: 0)
        #expect(follower.subscription == 7)
        follower.receivedHeartbeat(lastSequence: 3, stalled: nil, at: 0)
        #expect(follower.subscription == nil)
    }

    @Test mutating func `a silent consumer is replaced`() {
        for time in 1...3 {
            #expect(follower.action(at: UInt64(time) * Self.second) == .nothing)
        }
        #expect(follower.action(at: 4 * Self.second) == .subscribe)
    }

    @Test mutating func `a consumer with heartbeats that delivers nothing is replaced`() {
        receive(1...2, length: 1, at: 0)
        _ = follower.takeEntries()
        var actions: [NATSFollower.Action] = []
        for time in 1...4 {
            follower.receivedHeartbeat(
                lastSequence: 2, stalled: nil, at: UInt64(time) * Self.second)
            actions.append(follower.action(at: UInt64(time) * Self.second))
        }
        #expect(actions == [.nothing, .nothing, .nothing, .check])
        follower.checked(last: 5, at: 4 * Self.second)
        follower.receivedHeartbeat(lastSequence: 2, stalled: nil, at: 5 * Self.second)
        #expect(follower.action(at: 5 * Self.second) == .nothing)
        follower.receivedHeartbeat(lastSequence: 2, stalled: nil, at: 6 * Self.second)
        #expect(follower.action(at: 6 * Self.second) == .subscribe)
        #expect(follower.next == 3)
    }

    @Test mutating func `a consumer at the end of the stream is kept`() {
        receive(1...2, length: 1, at: 0)
        _ = follower.takeEntries()
        for time in 1...200 {
            follower.receivedHeartbeat(
                lastSequence: 2, stalled: nil, at: UInt64(time) * Self.second)
            switch follower.action(at: UInt64(time) * Self.second) {
            case .check: follower.checked(last: 2, at: UInt64(time) * Self.second)
            case .subscribe: Issue.record("replaced after \(time) seconds")
            case .nothing: break
            }
        }
        #expect(follower.subscription == 7)
    }

    @Test mutating func `failures to create a consumer are repeated ever more slowly`() {
        var attempts: [UInt64] = []
        follower.failed(7, at: 0)
        for tenth in 1...400 {
            let now = UInt64(tenth) * Self.second / 10
            guard follower.action(at: now) == .subscribe else { continue }
            attempts.append(now)
            follower.subscribed(8, at: now)
            follower.failed(8, at: now)
        }
        #expect(attempts.count == 8)
    }

    // MARK: Times

    @Test mutating func `a consumer may be silent for 3.5 s`() {
        #expect(follower.action(at: 3_500_000_000) == .nothing)
        #expect(follower.action(at: 3_500_000_001) == .subscribe)
    }

    @Test func `a consumer may be silent for 3.5 s after any message`() {
        let now = 3 * Self.second
        for message in ["entry", "heartbeat", "flow control", "subscription"] {
            var test = NATSFollowerTests()
            switch message {
            case "entry": test.receive(1...1, length: 1, at: now)
            case "heartbeat":
                test.follower.receivedHeartbeat(lastSequence: 0, stalled: nil, at: now)
            case "flow control": test.follower.received(flowReply: "flow", at: now)
            default: test.follower.subscribed(8, at: now)
            }
            _ = test.follower.takeEntries()
            // The end of the stream may be compared meanwhile.
            let last = test.follower.action(at: now + 3_500_000_000)
            #expect(last != .subscribe && test.follower.subscription != nil, "\(message)")
            let late = test.follower.action(at: now + 3_500_000_001)
            #expect(late == .subscribe, "\(message)")
        }
    }

    @Test mutating func `the end of a stream is compared after 4 s, and at last each minute`() {
        var due: UInt64 = 0
        for seconds in [4, 8, 16, 32, 60, 60] as [UInt64] {
            due += seconds * Self.second
            follower.receivedHeartbeat(lastSequence: nil, stalled: nil, at: due - 1)
            #expect(follower.action(at: due - 1) == .nothing)
            #expect(follower.action(at: due) == .check)
        }
    }

    @Test mutating func `a consumer has 1.5 s to deliver what its stream has`() {
        follower.receivedHeartbeat(lastSequence: nil, stalled: nil, at: Self.second)
        follower.checked(last: 5, at: Self.second)
        #expect(follower.action(at: 2_500_000_000) == .nothing)
        #expect(follower.action(at: 2_500_000_001) == .subscribe)
    }

    @Test mutating func `a consumer is created again after 0.5 s, and at last each 8 s`() {
        var now: UInt64 = 0
        follower.failed(7, at: now)
        for tenths in [5, 10, 20, 40, 80, 80] as [UInt64] {
            now += tenths * Self.second / 10
            #expect(follower.action(at: now - 1) == .nothing)
            #expect(follower.action(at: now) == .subscribe)
            follower.subscribed(8, at: now)
            follower.failed(8, at: now)
        }
    }

    @Test func `requests time out after 5 s, and heartbeats are a second apart`() {
        let configuration = NATSConfiguration(servers: [], database: .init(low: 1, high: 1))
        #expect(configuration.requestMilliseconds == 5_000)
        #expect(NATSFollower.heartbeatNanoseconds == 1_000_000_000)
    }

    @Test func `an object is given up if nothing was stored for more than twenty seconds`() {
        var progress = NATSPutProgress(at: 7)
        #expect(!progress.isOver(at: 7 + 20 * Self.second))
        #expect(progress.isOver(at: 8 + 20 * Self.second))
        progress.recordStored(at: 9)
        #expect(!progress.isOver(at: 9 + 20 * Self.second))
        #expect(progress.isOver(at: 10 + 20 * Self.second))
    }

    // MARK: Codecs

    @Test(arguments: [(124_000, true), (124_001, false)])
    func `the end of an object has as many chunks as fit in a message`(
        _ count: Int, _ isDecoded: Bool
    ) {
        var writer = ByteWriter()
        writer.write(UInt32(0x314F_4853))
        writer.write(UInt64(count) * 262_144)
        for number in 0..<2 as Range<UInt64> { writer.write(number) }
        writer.write(UInt32(count))
        for _ in 0..<count { writer.write(UInt64(7)) }
        let body = writer.bytes
        writer.write(body.span.withUnsafeBytes { XXH3.hash64($0) })
        #expect(writer.bytes.count <= 1_000_000)
        #expect(((try? decode(writer.bytes)) != nil) == isDecoded)
    }

    private func decode(_ bytes: [UInt8]) throws -> NATSObjectEnd {
        try bytes.withUnsafeBytes { try NATSObjectEnd(decoding: $0) }
    }

    @Test(arguments: [
        (
            "$JS.ACK.S.C.1.12.3.1700000000.0",
            NATSDelivery(entry: 12, sequence: 3, wallMilliseconds: 1_700)
        ),
        (
            "$JS.ACK._.hash.S.C.1.12.3.1700000000.0.token",
            NATSDelivery(entry: 12, sequence: 3, wallMilliseconds: 1_700)
        ),
        (
            "$JS.ACK._.hash.S.C.1.12.3.1700000000.0",
            NATSDelivery(entry: 12, sequence: 3, wallMilliseconds: 1_700)
        ),
        ("$JS.ACK.S.C.1.12.3.later.0", NATSDelivery(entry: 12, sequence: 3)),
        ("$JS.ACK.S.C.1.12.3.1.0.0", nil), ("JS.ACK.S.C.1.12.3.1.0", nil),
        ("$JS.NAK.S.C.1.12.3.1.0", nil),
        ("$JS.ACK.S.C.1.0.3.1700000000.0", nil), ("$JS.ACK.S.C.1.12.0.1700000000.0", nil),
        ("$JS.ACK.S.C.1.-1.3.1700000000.0", nil), ("$JS.ACK.S.C.1.12.3.0", nil),
        ("$JS.ACK.S.C.1.99999999999999999999.3.1.0", nil), ("$JS.FC.S.C.1.12.3.1.0", nil),
        ("", nil), ("........", nil),
    ])
    func `the numbers of a delivery are decoded`(_ reply: String, _ expected: NATSDelivery?) {
        #expect(NATSDelivery(reply: reply) == expected)
    }

    @Test func `the end of an object is decoded and all damage to it is refused`() throws {
        for length in [0, 1, 262_144, 262_145, 600_000] {
            let object = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let end = try #require(NATSObjectEnd(object))
            let bytes = end.bytes
            #expect(try decode(bytes) == end)
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] ^= 1
                #expect(throws: (any Error).self) {
                    try decode(damaged)
                }
                #expect(throws: (any Error).self) {
                    try decode(Array(bytes[..<index]))
                }
            }
            for (number, start) in stride(from: 0, to: length, by: 262_144).enumerated() {
                let chunk = Array(object[start..<min(start + 262_144, length)])
                #expect(end.matches(number, chunk))
                #expect(!end.matches(number, Array(chunk.dropLast())))
            }
        }
    }
}
