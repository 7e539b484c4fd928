import Sheaf
import SheafNetwork
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of incoming connections that have not proven a key: which of them make room for others.
struct AcceptanceLimitTests {
    private let clock = FakeClock()
    private let replaced =
        "handshakes: replaced by a newer connection before it had proven a key"

    private func server(_ change: (inout NetworkLimits) -> Void) throws -> RunningPeer {
        var configuration = try Peers.configuration()
        change(&configuration.limits)
        return try RunningPeer(configuration, listens: true, clock: clock.clock)
    }

    /// Connects a client and waits until the server has read what it sends.
    private func client(
        of server: RunningPeer, from host: UInt8, isSilent: Bool = false
    ) throws -> RawClient {
        let client = try RawClient(server.host.address, from: host)
        // The first bytes of an incomplete TLS record.
        if !isSilent { client.send([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) }
        try server.settle()
        return client
    }

    @Test func `at the limit of a network, a silent connection makes room, then a patient one`()
        throws
    {
        let server = try server { $0.unknownConnectionsPerNetwork = 2 }
        let first = try client(of: server, from: 2)
        let silent = try client(of: server, from: 2, isSilent: true)
        #expect(first.isQuiet && silent.isQuiet)
        let second = try client(of: server, from: 2)
        #expect(silent.isThrownOut())
        #expect(first.isQuiet && second.isQuiet)
        // All have sent something, and have a second for the rest.
        #expect(try client(of: server, from: 2).isThrownOut())
        clock.advance(milliseconds: 999)
        #expect(try client(of: server, from: 2).isThrownOut())
        #expect(first.isQuiet && second.isQuiet)
        clock.advance(milliseconds: 1)
        let third = try client(of: server, from: 2)
        #expect(first.isThrownOut())
        #expect(second.isQuiet && third.isQuiet)
        let full =
            "handshakes: 2 connections from the same network have not proven a key, which is the limit"
        #expect(server.host.refusals == [replaced, full, full, replaced])
    }

    @Test func `at the limit of all, the network with the most connections makes room`() throws {
        let server = try server { $0.unknownConnections = 3 }
        let first = try client(of: server, from: 2)
        let second = try client(of: server, from: 3)
        let third = try client(of: server, from: 3)
        #expect(server.host.refusals == [])
        let fourth = try client(of: server, from: 4)
        #expect(second.isThrownOut())
        #expect(first.isQuiet && third.isQuiet && fourth.isQuiet)
        // Each network has one.
        clock.advance(milliseconds: 999)
        #expect(try client(of: server, from: 5).isThrownOut())
        clock.advance(milliseconds: 1)
        let fifth = try client(of: server, from: 6)
        #expect(first.isThrownOut())
        #expect(third.isQuiet && fourth.isQuiet && fifth.isQuiet)
        let full =
            "handshakes: the limit of 3 connections that have not proven a key is reached"
        #expect(server.host.refusals == [replaced, full, replaced])
    }

    @Test func `at the limit of connections, one that has proven no key makes room`() throws {
        let server = try server { $0.connections = 2 }
        let known = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let connection = try #require(server.host.connection())
        let unknown = try client(of: server, from: 2)
        #expect(try client(of: server, from: 3).isThrownOut())
        clock.advance(milliseconds: 1_000)
        let silent = try client(of: server, from: 4, isSilent: true)
        #expect(unknown.isThrownOut())
        let late = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        #expect(server.host.connection(1)?.connection.remote.key == late.key)
        #expect(silent.isThrownOut())
        #expect(connection.connection.remote.key == known.key)
        #expect(connection.state.withLock { $0.closed } == 0)
        let full = "connections: the limit of 2 connections is reached"
        #expect(server.host.refusals == [full, replaced, replaced])
    }

    @Test func `a transport that accepts no more connections closes those without a key`() throws {
        let server = try server { _ in }
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let connection = try #require(server.host.connection())
        let unknown = try [false, true].map {
            try self.client(of: server, from: 2, isSilent: $0)
        }
        server.transport.stopAccepting()
        for other in unknown { #expect(other.isThrownOut()) }
        #expect(throws: NetworkError.self) { _ = try RawClient(server.host.address) }
        // It still connects to others.
        let other = try RunningPeer(Peers.configuration(), listens: true)
        try server.transport.add(other.host.address)
        #expect(server.host.connection(1)?.connection.remote.key == other.key)
        #expect(connection.connection.remote.key == client.key)
        #expect(connection.state.withLock { $0.closed } == 0)
        #expect(server.host.refusals == [])
    }

    @Test func `refusals beyond the limit of a second are counted in the next report`() throws {
        let server = try server { $0.reportsPerSecond = 1 }
        func refuse() throws {
            let client = try RawClient(server.host.address)
            client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            client.endSending()
            #expect(client.isThrownOut())
        }
        for _ in 0..<3 { try refuse() }
        let first = try #require(server.host.refusals.first)
        #expect(server.host.refusals == [first] && !first.contains("more refused"))
        clock.advance(milliseconds: 1_000)
        try refuse()
        clock.advance(milliseconds: 1_000)
        try refuse()
        #expect(server.host.refusals == [first, first + " (and 2 more refused)", first])
    }
}
