import Sheaf
import SheafNetwork
import SheafTestSupport
import Testing

/// Attempts to connect that fail, and listeners that start again.
struct FailedAttemptTests {
    private func port(of peer: RunningPeer) throws -> UInt16 {
        try #require(peer.host.address.split(separator: ":").last.flatMap { UInt16($0) })
    }

    @Test func `a failed attempt to reach a reported peer is reported once, with its cause`() throws
    {
        let client = try RunningPeer(
            Peers.configuration(.development(allowsOtherMachines: true)))
        client.transport.setDiscovery(.localNetwork)
        // Nothing listens on this port.
        let address = try #require(PeerAddress([127, 0, 0, 1], port: 1))
        client.transport.propose([.random(): [address]])
        let isReported = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isReported)
        let reason = try #require(client.host.failures.first)
        #expect(reason.hasPrefix("address: 127.0.0.1:1 cannot be reached: "), "\(reason)")
        #expect(!reason.contains("attempts failed"), "\(reason)")
    }

    @Test func `an address that cannot be reached is reported with the cause of the system`() throws
    {
        let client = try RunningPeer(Peers.configuration(), peers: ["127.0.0.1:1"])
        let isReported = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isReported)
        let reason = try #require(client.host.failures.first)
        #expect(reason.hasPrefix("address: 127.0.0.1:1 cannot be reached: "), "\(reason)")
    }

    #if os(Linux)
        @Test func `an address that does not respond fails after ten seconds`() throws {
            let clock = FakeClock()
            let listener = try HostileListener()
            listener.fill()
            let client = try RunningPeer(
                Peers.configuration(), peers: [listener.address], clock: clock.clock)
            /// Returns the failures after some time.
            func failures(after milliseconds: UInt64) throws -> [String] {
                clock.advance(milliseconds: milliseconds)
                try client.settle()
                return client.host.state.withLock { state in
                    state.unreachable.filter { $0.address == listener.address }.map(\.reason)
                }
            }
            #expect(try failures(after: 0) == [])
            #expect(try failures(after: 9_999) == [])
            #expect(
                try failures(after: 1)
                    == ["handshake-time: \(listener.address) does not respond"])
        }
    #endif

    @Test func `a connection that the own host refuses is a failed attempt`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), clock: FakeClock().clock)
        client.host.state.withLock { $0.takes = false }
        try client.transport.add(server.host.address)
        let isReported = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isReported)
        #expect(client.host.failures == ["host: the host refused the connection"])
        let failure = client.host.state.withLock { $0.unreachable.first }
        #expect(failure?.address == server.host.address && failure?.milliseconds == 2)
        let accepted = try #require(server.host.connection())
        let isOver = accepted.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(
            accepted.state.withLock { $0.reason } == "closed: the peer closed the connection")
        #expect(client.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `a client that closes without a greeting is refused with that reason`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try HostilePeer(server.host.address)
        #expect(client.session.sendCloseMessage())
        let isRefused = server.host.wait { !$0.refusals.isEmpty }
        #expect(isRefused)
        #expect(server.host.refusals == ["cut: the peer closed without a greeting"])
        #expect(client.client.isThrownOut())
    }

    /// The system keeps a connection for a while that a listener has closed first.
    @Test func `a transport listens at the address of one that was stopped with open connections`()
        throws
    {
        var configuration = try Peers.configuration()
        let first = try RunningPeer(configuration, listens: true)
        let address = first.host.address
        // It sends nothing, so that its connection ends without a reset.
        let silent = try LoopbackConnection(port: port(of: first))
        // Connections are accepted in their order.
        let client = try RunningPeer(Peers.configuration(), peers: [address])
        _ = try #require(client.host.connection())
        _ = try #require(first.host.connection())
        first.transport.stop()
        configuration.listening = [address]
        let second = try RunningPeer(configuration)
        #expect(second.host.address == address)
        #expect(second.host.connection() != nil)
        // The connection to the first transport is open until here.
        withExtendedLifetime(silent) {}
    }
}
