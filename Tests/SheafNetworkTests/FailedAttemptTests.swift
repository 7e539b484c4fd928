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
