import Sheaf
import SheafNetwork
import SheafTestSupport
import Testing

/// Connections to addresses that presence has reported.
///
/// Records never contain loopback addresses, but the transport connects to what it is given.
struct LearnedConnectionTests {
    private func peer(listens: Bool = false) throws -> RunningPeer {
        let peer = try RunningPeer(
            Peers.configuration(.development(allowsOtherMachines: true)), listens: listens)
        return peer
    }

    private func address(of peer: RunningPeer, host: UInt8 = 1) throws -> PeerAddress {
        let port = try #require(peer.host.address.split(separator: ":").last.flatMap { UInt16($0) })
        return try #require(PeerAddress([127, 0, 0, host], port: port))
    }

    private func key(of connection: TestConnectionHandler?) -> PeerKey? {
        connection?.connection.remote.key
    }

    @Test func `a peer connects to another one at the address that presence reports`() throws {
        let (server, client) = (try peer(listens: true), try peer())
        client.transport.propose([server.key: [try address(of: server)]])
        client.transport.setDiscovery(.localNetwork)
        #expect(key(of: client.host.connection()) == server.key)
        #expect(key(of: server.host.connection()) == client.key)
        // The connection stays when discovery ends, and nothing else is tried.
        client.transport.setDiscovery(.off)
        server.transport.stop()
        let isEnded = client.host.connection()?.wait { $0.closed == 1 }
        #expect(isEnded == true)
        #expect(client.host.failures.isEmpty)
    }

    @Test func `another peer at a reported address is refused before it is greeted`() throws {
        let (other, client) = (try peer(listens: true), try peer())
        client.transport.setDiscovery(.localNetwork)
        client.transport.propose([.random(): [try address(of: other)]])
        let isRefused = client.host.wait { state in
            state.unreachable.contains { $0.reason.hasPrefix("other-peer: ") }
        }
        #expect(isRefused)
        #expect(client.host.state.withLock { $0.connections.isEmpty })
        #expect(other.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `a peer is found at its second address if another one has the first`() throws {
        let (other, server) = (try peer(listens: true), try peer(listens: true))
        let client = try peer()
        client.transport.setDiscovery(.localNetwork)
        client.transport.propose([
            server.key: [try address(of: other), try address(of: server)]
        ])
        #expect(key(of: client.host.connection()) == server.key)
        #expect(other.host.state.withLock { $0.connections.isEmpty })
    }

    @Test func `a lost connection to a reported peer is opened again`() throws {
        let (server, client) = (try peer(listens: true), try peer())
        client.transport.propose([server.key: [try address(of: server)]])
        client.transport.setDiscovery(.localNetwork)
        let first = try #require(server.host.connection())
        first.connection.close(because: "a test")
        #expect(key(of: client.host.connection(1)) == server.key)
    }

    @Test func `a reported peer that is connected already is not dialed`() throws {
        let server = try peer(listens: true)
        let client = try RunningPeer(
            Peers.configuration(.development(allowsOtherMachines: true)),
            peers: [server.host.address])
        _ = try #require(client.host.connection())
        let last = try peer(listens: true)
        client.transport.setDiscovery(.localNetwork)
        // Both are ready at the same time, so the first is left out once the second is connected.
        client.transport.propose([
            server.key: [try address(of: server)], last.key: [try address(of: last)],
        ])
        #expect(key(of: client.host.connection(1)) == last.key)
        #expect(server.host.state.withLock { $0.connections.count } == 1)
        #expect(client.transport.connections.count == 2)
    }

    @Test func `a listener on this machine alone has no addresses for others`() throws {
        let server = try peer(listens: true)
        server.transport.setDiscovery(.localNetwork)
        // The loop has handled the request when it connects.
        let other = try peer(listens: true)
        server.transport.propose([other.key: [try address(of: other)]])
        _ = try #require(other.host.connection())
        #expect(server.transport.addresses.isEmpty)
    }

    // MARK: Limits

    @Test(arguments: [(2, 2), (3, 3), (4, 3)])
    func `a peer connects to at most the given number of reported peers`(
        _ limit: Int, _ expected: Int
    ) throws {
        let clock = FakeClock()
        let identity = NetworkIdentity.development(allowsOtherMachines: true)
        // Attempts to connect to one host are rare.
        let hosts: [UInt8] = [2, 3, 4]
        let servers = try hosts.map { host in
            var configuration = try Peers.configuration(identity)
            configuration.listening = ["127.0.0.\(host):0"]
            return try RunningPeer(configuration)
        }
        var configuration = try Peers.configuration(identity)
        configuration.limits.discoveredPeers = limit
        let client = try RunningPeer(configuration, clock: clock.clock)
        client.transport.setDiscovery(.localNetwork)
        var peers: [PeerKey: [PeerAddress]] = [:]
        for (server, host) in zip(servers, hosts) {
            peers[server.key] = [try address(of: server, host: host)]
        }
        client.transport.propose(peers)
        try client.settle()
        for milliseconds: UInt64 in [1_000, 300] {
            clock.advance(milliseconds: milliseconds)
            try client.settle()
        }
        #expect(client.host.connection(expected - 1) != nil)
        for _ in 0..<3 {
            clock.advance(milliseconds: 10_000)
            try client.settle()
        }
        #expect(client.host.state.withLock { $0.connections.count } == expected)
    }

    /// Returns the time until a peer connects to the only reported one; zero if it does now.
    private func wait(of client: RunningPeer) -> Int? {
        // The port on which nothing listens may be listed, too.
        let status = client.transport.connections.first { $0.address != RunningPeer.probedAddress }
        guard let status else { return nil }
        if case .waiting(let milliseconds, _) = status.state { return milliseconds }
        return 0
    }

    @Test(arguments: [false, true])
    func `the peer with the greater key lets the other one connect for 300 ms`(
        isGreater: Bool
    ) throws {
        let clock = FakeClock()
        let identity = NetworkIdentity.development(allowsOtherMachines: true)
        let keys = try (0..<2).map { _ in try PeerKeyPair.generate() }.sorted {
            $0.publicKey.bytes.lexicographicallyPrecedes($1.publicKey.bytes)
        }
        let server = try RunningPeer(
            Peers.configuration(identity, keyPair: keys[isGreater ? 0 : 1]), listens: true)
        let client = try RunningPeer(
            Peers.configuration(identity, keyPair: keys[isGreater ? 1 : 0]), clock: clock.clock)
        client.transport.setDiscovery(.localNetwork)
        client.transport.propose([server.key: [try address(of: server)]])
        try client.settle()
        // Discovery has one second to find the peer.
        clock.advance(milliseconds: 999)
        try client.settle()
        #expect(wait(of: client) == nil)
        clock.advance(milliseconds: 1)
        try client.settle()
        if isGreater {
            #expect(wait(of: client) == 300)
            clock.advance(milliseconds: 299)
            try client.settle()
            #expect(wait(of: client) == 1)
            clock.advance(milliseconds: 1)
            try client.settle()
        }
        #expect(wait(of: client) == 0)
        #expect(key(of: client.host.connection()) == server.key)
    }
}
