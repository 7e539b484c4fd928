import Sheaf
import SheafNetwork
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of closed connections: the times that they wait, and what is left of them.
struct ClosingTests {
    private let clock = FakeClock()

    @Test func `the time to receive the last bytes begins anew while the peer receives some`()
        throws
    {
        var configuration = try Peers.configuration()
        configuration.limits.queuedBytes = 9 << 20
        let server = try RunningPeer(configuration, listens: true, clock: clock.clock)
        let peer = try HostilePeer(server.host.address, receiveBuffer: 65_536)
        peer.send(try peer.words(Peers.configuration()))
        let handler = try #require(server.host.connection())
        // More than all buffers of the system.
        handler.connection.send([UInt8](repeating: 7, count: 8 << 20))
        handler.connection.close(because: "test is done")
        let before = try server.settledLength(of: handler.connection)
        clock.advance(milliseconds: 4_999)
        try server.settle()
        // More than a third of a buffer, after which the system accepts bytes again.
        for _ in 0..<128 { _ = peer.read(16 << 10) }
        let after = try server.settledLength(of: handler.connection)
        #expect(0 < after && after < before)
        clock.advance(milliseconds: 4_999)
        try server.settle()
        #expect(handler.state.withLock { $0.closed } == 0)
        clock.advance(milliseconds: 1)
        try server.settle()
        #expect(handler.state.withLock { $0.closed } == 1)
    }

    @Test func `a refused client that does not close is dropped after five seconds`() throws {
        var configuration = try Peers.configuration()
        // The refused client has the only connection, and is not replaced.
        configuration.limits.connections = 1
        configuration.limits.patienceMilliseconds = 60_000
        let server = try RunningPeer(configuration, listens: true, clock: clock.clock)
        let refused = try HostilePeer(server.host.address)
        refused.send(Array(repeating: 65, count: Greeting.Layout.size))
        #expect(refused.ending() == .closeMessage)
        try server.settle()
        clock.advance(milliseconds: 4_999)
        try server.settle()
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let full = "connections: the limit of 1 connections is reached"
        let isRefused = server.host.wait { $0.refusals.contains(full) }
        #expect(isRefused)
        #expect(server.host.state.withLock { $0.connections.isEmpty })
        clock.advance(milliseconds: 1)
        server.transport.wakeAfterClockChange()
        #expect(server.host.connection()?.connection.remote.key == client.key)
        #expect(server.host.refusals.first?.hasPrefix("greeting: ") == true)
        #expect(server.host.refusals.dropFirst().allSatisfy { $0.hasPrefix(full) })
    }

    @Test func `a removed address is left while its peer still authenticates`() throws {
        let listener = try HostileListener()
        let client = try RunningPeer(
            Peers.configuration(), peers: [listener.address], clock: clock.clock)
        let accepted = try listener.accept()
        // The client has sent its first bytes.
        #expect(accepted.waitFor(1))
        #expect(client.transport.connections.map(\.state) == [.connecting])
        try client.transport.remove(listener.address)
        #expect(accepted.isThrownOut())
        try client.settle()
        let (failed, reached) = client.host.state.withLock { state in
            (state.unreachable.map(\.address), state.reached)
        }
        #expect(Set(failed + reached) == [RunningPeer.probedAddress])
    }

    @Test func `a silent listener is a failed attempt, and no refused connection`() throws {
        let listener = try HostileListener()
        let client = try RunningPeer(
            Peers.configuration(), peers: [listener.address], clock: clock.clock)
        let accepted = try listener.accept()
        #expect(accepted.waitFor(1))
        clock.advance(milliseconds: 10_000)
        client.transport.wakeAfterClockChange()
        let isFailed = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isFailed)
        let text = "handshake-time: handshake timeout: no valid greeting within 10000 ms"
        #expect(client.host.failures == [text])
        #expect(client.host.refusals == [])
        // The delay of the first attempt is half of 5 ms.
        let attempt = client.host.state.withLock { $0.unreachable.first }
        #expect(attempt?.address == listener.address && attempt?.milliseconds == 2)
    }

    @Test func `a lost connection is listed with its reason and the time until the next attempt`()
        throws
    {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let address = server.host.address
        var configuration = try Peers.configuration()
        configuration.limits.firstRetryMilliseconds = 60_000
        configuration.limits.longestRetryMilliseconds = 60_000
        let client = try RunningPeer(configuration, peers: [address], clock: clock.clock)
        let local = try #require(client.host.connection())
        let remote = try #require(server.host.connection())
        remote.connection.close(because: "a test")
        let isOver = local.wait { $0.closed == 1 }
        #expect(isOver)
        try client.settle()
        for (step, rest) in [(0, 30_000), (29_999, 1)] as [(UInt64, Int)] {
            clock.advance(milliseconds: step)
            let expected = NetworkConnectionStatus(
                address: address, isOutgoing: true,
                state: .waiting(
                    milliseconds: rest, reason: "closed: the peer closed the connection"))
            let status = client.transport.connections.first { $0.address == address }
            #expect(status == expected)
        }
    }

    @Test func `both ends count the same bytes`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let local = try #require(client.host.connection())
        let remote = try #require(server.host.connection())
        local.connection.send([UInt8](repeating: 7, count: 100_000))
        let isReceived = remote.wait { $0.received.count == 100_000 }
        #expect(isReceived)
        remote.connection.send([UInt8](repeating: 7, count: 1_000))
        let isAnswered = local.wait { $0.received.count == 1_000 }
        #expect(isAnswered)
        var (there, here) = (NetworkTraffic(), NetworkTraffic())
        let end = Clock.system.monotonicNanoseconds() + 60_000_000_000
        // The counters follow the last bytes.
        var isEqual = false
        while !isEqual, Clock.system.monotonicNanoseconds() < end {
            there = server.transport.connections.first?.traffic ?? NetworkTraffic()
            here = client.transport.connections.first?.traffic ?? NetworkTraffic()
            isEqual =
                here.sentBytes > 100_000 && here.sentBytes == there.receivedBytes
                && here.receivedBytes > 1_000 && here.receivedBytes == there.sentBytes
        }
        #expect(here.sentBytes == there.receivedBytes)
        #expect(here.receivedBytes == there.sentBytes)
        // The handshakes and the TLS records add a few thousand bytes.
        #expect((100_000..<110_000).contains(here.sentBytes), "\(here.sentBytes)")
        #expect((1_000..<11_000).contains(here.receivedBytes), "\(here.receivedBytes)")
    }
}
