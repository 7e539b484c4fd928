import Sheaf
import SheafNetwork
import SheafTestSupport
import SheafTransport
import Testing

/// Tests of a transport before it starts and after it has stopped.
struct TransportSetupTests {
    private let clock = FakeClock()
    private let identity = NetworkIdentity.development(allowsOtherMachines: true)

    /// Returns the text of the error that a start throws.
    private func startError(
        listening address: String, _ identity: NetworkIdentity = .development()
    ) throws -> String? {
        var configuration = try Peers.configuration(identity)
        configuration.listening = [address]
        let transport = try TCPTransport(configuration, clock: clock.clock, random: { 0 })
        defer { transport.stop() }
        do {
            try transport.start(TestHost())
            return nil
        } catch {
            return (error as? NetworkError)?.description
        }
    }

    @Test func `an address to listen at is numeric, and on this machine in development mode`()
        throws
    {
        #expect(
            try startError(listening: "localhost:0", identity)
                == "address: cannot listen on localhost:0: it is not numeric")
        for address in ["0.0.0.0:0", "[::]:0"] {
            #expect(
                try startError(listening: address)
                    == "loopback: cannot listen on \(address) in development mode: other machines "
                    + "can reach it; use 127.0.0.1, or a shared key or an authority as identity")
        }
        #expect(try startError(listening: "0.0.0.0:0", identity) == nil)
        #expect(try startError(listening: "127.0.0.2:0") == nil)
    }

    @Test func `a running transport refuses another start, and is still running`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let error = #expect(throws: NetworkError.self) {
            try server.transport.start(TestHost())
        }
        #expect(
            error?.description == "running: the transport is already running; stop it first")
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        #expect(server.host.connection()?.connection.remote.key == client.key)
    }

    @Test func `a transport starts with all that was set while it was stopped`() throws {
        let configured = try RunningPeer(Peers.configuration(identity), listens: true)
        let learned = try RunningPeer(Peers.configuration(identity), listens: true)
        let client = try RunningPeer(Peers.configuration(identity), clock: clock.clock)
        let (transport, host) = (client.transport, client.host)
        transport.stop()
        #expect(transport.connections.isEmpty && transport.addresses.isEmpty)
        let port = try #require(
            learned.host.address.split(separator: ":").last.flatMap { UInt16($0) })
        let address = try #require(PeerAddress([127, 0, 0, 1], port: port))
        transport.setDiscovery(.localNetwork)
        transport.propose([learned.key: [address]])
        try transport.add("127.0.0.1:2")
        try transport.add(configured.host.address)
        try transport.add(configured.host.address)
        try transport.remove("127.0.0.1:2")
        #expect(transport.connections.isEmpty)
        try transport.start(host)
        #expect(host.connection()?.connection.remote.key == configured.key)
        try client.settle()
        // The peer with the greater key lets the other one connect.
        for milliseconds: UInt64 in [1_000, 300] {
            clock.advance(milliseconds: milliseconds)
            try client.settle()
        }
        #expect(host.connection(1)?.connection.remote.key == learned.key)
        try client.settle()
        let failed = host.state.withLock { $0.unreachable.map(\.address) }
        #expect(Set(failed) == [RunningPeer.probedAddress])
        let addresses = transport.connections.map(\.address).filter {
            $0 != RunningPeer.probedAddress
        }
        #expect(addresses == [configured.host.address, learned.host.address])
        // The addresses are kept across a stop.
        transport.stop()
        for handler in host.state.withLock({ $0.connections }) {
            let (closed, reason) = handler.state.withLock { ($0.closed, $0.reason) }
            #expect(closed == 1 && reason == "stopped: the transport was stopped")
        }
        try transport.start(host)
        #expect(host.connection(2)?.connection.remote.key == configured.key)
    }
}
