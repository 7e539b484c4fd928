import Sheaf
import SheafNetwork
import SheafSystem
import Testing

/// Tests of the metadata that a host presents on connections over TCP.
struct PresentedMetadataTests {
    /// A host with metadata; another one records its connections.
    private final class DescribedHost: PeerTransportHost {
        let base = TestHost()
        let metadata: Object = ["user": "ann"]

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
            base.connected(connection)
        }

        func report(_ event: PeerTransportEvent) { base.report(event) }
    }

    @Test func `both ends of a connection have the metadata of the other one`() throws {
        let described = DescribedHost()
        var configuration = try Peers.configuration()
        configuration.listening = ["127.0.0.1:0"]
        let transport = try TCPTransport(configuration, clock: .system, random: { 0 })
        try transport.start(described)
        defer { transport.stop() }
        let client = try RunningPeer(Peers.configuration(), peers: [described.base.address])
        #expect(client.host.connection()?.connection.remote.metadata == described.metadata)
        #expect(described.base.connection()?.connection.remote.metadata == Object())
        let server = try RunningPeer(Peers.configuration(), listens: true)
        try transport.add(server.host.address)
        #expect(server.host.connection()?.connection.remote.metadata == described.metadata)
        #expect(described.base.connection(1)?.connection.remote.metadata == Object())
    }
}
