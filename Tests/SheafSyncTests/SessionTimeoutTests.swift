import SheafBytes
import SheafSync
import Testing

/// The times after which a session pings or ends, a nanosecond before and at each of them.
///
/// The numbers are those of the specification, not constants of the code.
@Suite struct SessionTimeoutTests {
    private static let second: UInt64 = 1_000_000_000

    /// A session, and the frames of its peer, which the test writes.
    private struct Peer {
        var session = SyncSession(OpenSession.hello(1), at: 0)
        private var other = FrameWriter()
        private(set) var pings = 0
        private(set) var end: CloseMessage?

        init() { readEffects() }

        mutating func bytes(_ type: FrameType, _ body: [UInt8] = []) -> [UInt8] {
            other.bytes(of: Frame(type, body))
        }

        mutating func receive(_ bytes: some Sequence<UInt8>, at now: UInt64) {
            Array(bytes).withUnsafeBytes { session.receive($0, at: now) }
            readEffects()
        }

        mutating func tick(at now: UInt64) {
            session.tick(at: now)
            readEffects()
        }

        private mutating func readEffects() {
            for effect in session.drainEffects() {
                switch effect {
                case .send(let bytes) where bytes[8] == FrameType.ping.rawValue: pings += 1
                case .end(let message): end = message
                default: break
                }
            }
        }
    }

    /// Returns a session that has received a hello at this time.
    private static func greeted(at now: UInt64 = 0) -> Peer {
        var peer = Peer()
        peer.receive(peer.bytes(.hello, OpenSession.hello(2).bytes), at: now)
        return peer
    }

    /// Lets time pass; the session must end at `time`, and not before.
    private static func expectEnd(
        of peer: inout Peer, at time: UInt64, _ reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        while let deadline = peer.session.deadline, deadline < time {
            peer.tick(at: deadline)
            #expect(peer.end == nil, "at \(deadline) ns", sourceLocation: sourceLocation)
        }
        #expect(peer.session.deadline == time, sourceLocation: sourceLocation)
        peer.tick(at: time - 1)
        #expect(peer.end == nil, sourceLocation: sourceLocation)
        peer.tick(at: time)
        let end = try #require(peer.end, sourceLocation: sourceLocation)
        #expect(end.code == .timedOut, sourceLocation: sourceLocation)
        #expect(end.text.contains(reason), sourceLocation: sourceLocation)
        #expect(peer.session.deadline == nil, sourceLocation: sourceLocation)
    }

    @Test func `a peer says hello within 10 seconds`() throws {
        var silent = Peer()
        try Self.expectEnd(of: &silent, at: 10 * Self.second, "handshake")
        var late = Self.greeted(at: 10 * Self.second - 1)
        late.tick(at: 10 * Self.second)
        #expect(late.end == nil)
    }

    @Test func `bytes without a hello do not extend the 10 seconds`() throws {
        var slow = Peer()
        let hello = slow.bytes(.hello, OpenSession.hello(2).bytes)
        for (number, byte) in hello.dropLast().prefix(9).enumerated() {
            slow.receive([byte], at: UInt64(number + 1) * Self.second)
        }
        try Self.expectEnd(of: &slow, at: 10 * Self.second, "handshake")
    }

    @Test(arguments: [0, 7, 29] as [UInt64])
    func `a frame arrives within 30 seconds, however many bytes come meanwhile`(
        began: UInt64
    ) throws {
        var peer = Self.greeted()
        let frame = peer.bytes(.ping)
        peer.receive(frame.prefix(2), at: began * Self.second)
        for (number, byte) in frame.dropFirst(2).dropLast().prefix(4).enumerated() {
            peer.receive([byte], at: (began + 7 * UInt64(number + 1)) * Self.second)
        }
        try Self.expectEnd(of: &peer, at: (began + 30) * Self.second, "incomplete frame")
    }

    @Test func `a frame that has arrived in time does not end the session`() throws {
        var peer = Self.greeted()
        var now: UInt64 = 0
        for _ in 0..<5 {
            let (first, second) = (peer.bytes(.ping), peer.bytes(.ping))
            peer.receive(first.dropLast(), at: now)
            now += 30 * Self.second - 1
            peer.tick(at: now)
            // The rest of a frame arrives with the beginning of the next one.
            peer.receive(first.suffix(1) + second.prefix(3), at: now)
            now += 30 * Self.second - 1
            peer.tick(at: now)
            peer.receive(second.dropFirst(3), at: now)
            #expect(peer.end == nil)
        }
    }

    @Test func `a silent peer is pinged after 30 seconds, and its connection ends after 90`() throws
    {
        var peer = Self.greeted()
        for start in [0, 200, 289] as [UInt64] {
            if start > 0 { peer.receive(peer.bytes(.ping), at: start * Self.second) }
            let pings = peer.pings
            #expect(peer.session.deadline == (start + 30) * Self.second)
            peer.tick(at: (start + 30) * Self.second - 1)
            #expect(peer.pings == pings)
            peer.tick(at: (start + 30) * Self.second)
            peer.tick(at: (start + 60) * Self.second)
            #expect(peer.pings == pings + 1)
            if start == 0 {
                // The answer arrives at the last moment.
                peer.tick(at: 90 * Self.second - 1)
                peer.receive(peer.bytes(.ping), at: 90 * Self.second - 1)
                peer.tick(at: 90 * Self.second)
                #expect(peer.end == nil)
                peer.tick(at: 120 * Self.second)
                peer.receive(peer.bytes(.ping), at: 170 * Self.second)
            }
        }
        try Self.expectEnd(of: &peer, at: (289 + 90) * Self.second, "nothing received")
    }
}
