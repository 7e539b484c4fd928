import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Connection limits under floods of connections that never prove a key.
///
/// The server has a fake clock, so no connection times out.
struct ManyPeersTests {
    private let clock = FakeClock()
    private let server: RunningPeer
    private let limits = NetworkLimits()

    init() throws {
        server = try RunningPeer(Peers.configuration(), listens: true, clock: clock.clock)
    }

    /// The first bytes of an incomplete TLS record.
    private let start: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]

    private func clients(
        _ count: Int, from hosts: ClosedRange<UInt8> = 1...1, sending bytes: [UInt8] = []
    ) throws -> [RawClient] {
        let hosts = Array(hosts)
        return try (0..<count).map { number in
            let client = try RawClient(server.host.address, from: hosts[number % hosts.count])
            if !bytes.isEmpty { client.send(bytes) }
            return client
        }
    }

    /// Connects a peer and sends bytes through the connection.
    private func expectService() throws {
        let count = server.host.state.withLock { $0.connections.count }
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let serverConnection = try #require(server.host.connection(count))
        let clientConnection = try #require(client.host.connection())
        clientConnection.connection.send([1, 2, 3])
        let isPresent = serverConnection.wait { $0.received == [1, 2, 3] }
        #expect(isPresent)
    }

    @Test
    func `newer connections replace silent ones from one address, and a peer connects`()
        throws
    {
        let silent = try clients(200)
        // Only the newest stay open, up to the limit per network.
        for client in silent.dropLast(limits.unknownConnectionsPerNetwork) {
            try #require(client.isThrownOut())
        }
        try server.settle()
        #expect(silent.suffix(limits.unknownConnectionsPerNetwork).allSatisfy { $0.isQuiet })
        try expectService()
        #expect(server.host.refusals.allSatisfy { $0.hasPrefix("handshakes: ") })
        // Reports are limited per second.
        #expect(server.host.refusals.count <= limits.reportsPerSecond)
    }

    @Test func `silent connections from many addresses make room for a peer`() throws {
        let silent = try clients(200, from: 2...201)
        for client in silent.dropLast(limits.unknownConnections) {
            try #require(client.isThrownOut())
        }
        try server.settle()
        #expect(silent.suffix(limits.unknownConnections).allSatisfy { $0.isQuiet })
        try expectService()
    }

    @Test func `incomplete handshakes from a few addresses make room for a peer`()
        throws
    {
        let count = limits.unknownConnectionsPerNetwork
        // Each address reaches its limit, and together they fill the table.
        let clients = try clients(4 * count, from: 2...5, sending: start)
        try expectService()
        #expect(clients.count == 4 * count)
    }

    @Test func `an address at its limit is refused, and other addresses are served`() throws {
        let count = limits.unknownConnectionsPerNetwork
        let first = try clients(count, from: 2...2, sending: start)
        // Serving a peer guarantees that the server has read the bytes sent before.
        try expectService()
        clock.advance(milliseconds: UInt64(limits.patienceMilliseconds - 1))
        let late = try clients(1, from: 2...2, sending: start)
        try #require(late[0].isThrownOut())
        let isReported = server.host.wait {
            $0.refusals.contains { $0.contains("from the same network") }
        }
        #expect(isReported)
        // After the grace period, a new connection replaces the oldest from the same address.
        clock.advance(milliseconds: 1)
        let later = try clients(1, from: 2...2, sending: start)
        #expect(first[0].isThrownOut())
        try expectService()
        #expect(later.count == 1)
    }

    @Test func `beyond the maximum of unknown connections, a new one replaces the oldest`() throws {
        var configuration = try Peers.configuration()
        configuration.limits.unknownConnections = 3
        let server = try RunningPeer(configuration, listens: true, clock: clock.clock)
        var clients: [RawClient] = []
        for host: UInt8 in 2...4 {
            clients.append(try RawClient(server.host.address, from: host))
        }
        try server.settle()
        #expect(clients.allSatisfy { $0.isQuiet })
        clients.append(try RawClient(server.host.address, from: 5))
        #expect(clients[0].isThrownOut())
        try server.settle()
        #expect(clients.dropFirst().allSatisfy { $0.isQuiet })
    }
}
