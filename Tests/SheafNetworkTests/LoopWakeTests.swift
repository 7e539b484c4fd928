import Sheaf
import SheafNetwork
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of what a loop notices by itself: the time passes, and no event wakes it.
///
/// It checks all times after 30 seconds, so the tests wait for less.
struct LoopWakeTests {
    private let clock = FakeClock()

    private var soon: UInt64 { Clock.system.monotonicNanoseconds() + 20_000_000_000 }

    /// Waits until the loop has handled its events and waits for the next one.
    private func settle(_ peer: RunningPeer) throws {
        try peer.settle()
        let (end, probed) = (deadline(), RunningPeer.probedAddress)
        while peer.transport.connections.contains(where: { $0.address == probed }),
            Clock.system.monotonicNanoseconds() < end
        {}
    }

    @Test func `the next attempt begins at its time`() throws {
        var configuration = try Peers.configuration()
        configuration.limits.firstRetryMilliseconds = 20
        let client = try RunningPeer(
            configuration, peers: ["127.0.0.1:2"], clock: clock.clock)
        let isFailed = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isFailed)
        try settle(client)
        let count = client.host.failures.count
        clock.advance(milliseconds: 10)
        let isRepeated = client.host.state.wait(
            until: soon, while: { $0.unreachable.count == count })
        #expect(isRepeated)
    }

    @Test func `a handshake ends at its time`() throws {
        var configuration = try Peers.configuration()
        configuration.limits.handshakeMilliseconds = 10
        let server = try RunningPeer(configuration, listens: true, clock: clock.clock)
        let client = try RawClient(server.host.address)
        try settle(server)
        #expect(client.isQuiet)
        clock.advance(milliseconds: 10)
        let isRefused = server.host.state.wait(until: soon, while: { $0.refusals.isEmpty })
        #expect(isRefused)
        #expect(client.isThrownOut())
    }

    @Test func `a connection ends with a grant`() throws {
        let authority = try PeerKeyPair.generate()
        func configuration(until end: UInt64) throws -> NetworkConfiguration {
            let keyPair = try PeerKeyPair.generate()
            let grant = try PeerGrant(
                authority: authority, databaseID: Peers.databaseID, peerKey: keyPair.publicKey,
                validMilliseconds: 0..<end)
            return try Peers.configuration(
                .authority(publicKey: authority.publicKey, grant: grant), keyPair: keyPair)
        }
        let now = clock.clock.wallMilliseconds()
        let server = try RunningPeer(
            configuration(until: .max), listens: true, clock: clock.clock)
        // The time of the client does not pass.
        let client = try RunningPeer(
            configuration(until: now + 10), peers: [server.host.address],
            clock: FakeClock(wallMilliseconds: now).clock)
        let handler = try #require(server.host.connection())
        try settle(server)
        clock.advance(milliseconds: 9)
        try settle(server)
        #expect(handler.state.withLock { $0.closed } == 0)
        clock.advance(milliseconds: 1)
        let isOver = handler.state.wait(until: soon, while: { $0.closed == 0 })
        #expect(isOver)
        let text =
            "grant-expired: a grant of this connection has expired; both ends need a valid grant"
        #expect(handler.state.withLock { $0.reason } == text)
        #expect(server.host.refusals == [text])
        #expect(client.host.refusals == [])
    }
}
