import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// The limits of a transport, at their exact values.
struct NetworkLimitTests {
    private let clock = FakeClock()

    @Test func `the default limits are the documented ones`() {
        let limits = NetworkLimits()
        #expect(limits.connections == 256)
        #expect(limits.unknownConnections == 64)
        #expect(limits.unknownConnectionsPerNetwork == 32)
        #expect(limits.handshakeMilliseconds == 10_000)
        #expect(limits.patienceMilliseconds == 1_000)
        #expect(limits.discoveredPeers == 16)
        #expect(limits.queuedBytes == 8_388_608)
        #expect(limits.closingMilliseconds == 5_000)
        #expect(limits.firstRetryMilliseconds == 500)
        #expect(limits.longestRetryMilliseconds == 60_000)
        #expect(limits.steadyMilliseconds == 5_000)
        #expect(limits.reportsPerSecond == 20)
        #expect(NetworkLoop.patienceNanoseconds == 300_000_000)
    }

    @Test func `at the maximum number of connections, none is accepted or opened`() throws {
        var configuration = try Peers.configuration()
        configuration.limits.connections = 3
        let server = try RunningPeer(configuration, listens: true)
        let clients = try (0..<3).map { _ in
            try RunningPeer(Peers.configuration(), peers: [server.host.address])
        }
        #expect(server.host.connection(2) != nil)
        let late = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let text = "connections: the limit of 3 connections is reached"
        let isRefused = server.host.wait { $0.refusals.contains { $0.hasPrefix(text) } }
        #expect(isRefused)
        let isReported = late.host.wait { !$0.unreachable.isEmpty }
        #expect(isReported)
        let other = try RunningPeer(Peers.configuration(), listens: true)
        try server.transport.add(other.host.address)
        let isNotOpened = server.host.wait { $0.unreachable.contains { $0.reason == text } }
        #expect(isNotOpened)
        try server.transport.remove(other.host.address)
        #expect(server.host.state.withLock { $0.connections.count } == 3)
        #expect(other.host.state.withLock { $0.connections.isEmpty })
        // A connection that ends makes room.
        clients[0].transport.stop()
        #expect(server.host.connection(3) != nil)
        #expect(late.host.connection() != nil)
    }

    @Test(arguments: [[1_000], [999, 1], [1, 998, 1]])
    func `a queue holds exactly the maximum number of bytes`(_ lengths: [Int]) {
        let queue = OutgoingQueue(limit: 1_000)
        for length in lengths { _ = queue.append([UInt8](repeating: 7, count: length)) }
        #expect(queue.length == 1_000 && !queue.isOverfull)
        // Sent bytes make room.
        _ = queue.advance(by: 1)
        _ = queue.append([7])
        #expect(queue.length == 1_000 && !queue.isOverfull)
        let demand = queue.append([7])
        #expect(queue.length == 1_000 && queue.isOverfull)
        // The loop was woken before, and has not processed the queue yet.
        #expect(demand == .nothing)
    }

    @Test func `bytes beyond the maximum of an empty queue end the connection at once`() {
        let queue = OutgoingQueue(limit: 1_000)
        let demand = queue.append([UInt8](repeating: 7, count: 1_001))
        #expect(queue.length == 0 && queue.isOverfull)
        #expect(demand == .attention)
    }

    @Test func `twenty refusals per second are reported, and the omitted ones are counted`() {
        var gate = ReportGate(perSecond: 20)
        let second: UInt64 = 1_000_000_000
        var passed: [Int?] = []
        for _ in 0..<25 { passed.append(gate.pass(atNanoseconds: 5 * second)) }
        let expected: [Int?] = Array(repeating: 0, count: 20) + Array(repeating: nil, count: 5)
        #expect(passed == expected)
        let late = gate.pass(atNanoseconds: 6 * second - 1)
        #expect(late == nil)
        let next = gate.pass(atNanoseconds: 6 * second)
        #expect(next == 6)
        let last = gate.pass(atNanoseconds: 6 * second)
        #expect(last == 0)
    }

    @Test(arguments: [(4_999, 500), (5_000, 250)] as [(UInt64, Int)])
    func `a connection of five seconds resets the delay before the next attempt`(
        _ duration: UInt64, _ expected: Int
    ) throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        var configuration = try Peers.configuration()
        configuration.limits.firstRetryMilliseconds = 500
        configuration.limits.longestRetryMilliseconds = 60_000
        let client = try RunningPeer(
            configuration, peers: [server.host.address], clock: clock.clock)
        // The delays are half of their maximum, since the random numbers are zero.
        #expect(try delay(after: 0, connection: 0, server, client) == 250)
        clock.advance(milliseconds: 250)
        client.transport.wakeAfterClockChange()
        #expect(try delay(after: duration, connection: 1, server, client) == expected)
    }

    /// Returns the delay after the server has closed a connection of some duration.
    private func delay(
        after milliseconds: UInt64, connection number: Int, _ server: RunningPeer,
        _ client: RunningPeer
    ) throws -> Int? {
        let local = try #require(client.host.connection(number))
        let remote = try #require(server.host.connection(number))
        try client.settle()
        clock.advance(milliseconds: milliseconds)
        remote.connection.close(because: "a test")
        let isOver = local.wait { $0.closed == 1 }
        #expect(isOver)
        try client.settle()
        let address = server.host.address
        let status = client.transport.connections.first { $0.address == address }
        guard case .waiting(let delay, _)? = status?.state else { return nil }
        return delay
    }

    @Test func `an incomplete handshake of a client times out after ten seconds`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true, clock: clock.clock)
        let client = try RawClient(server.host.address)
        // The first bytes of an incomplete TLS record.
        client.send([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
        try server.settle()
        clock.advance(milliseconds: 9_999)
        try server.settle()
        #expect(server.host.refusals.isEmpty)
        clock.advance(milliseconds: 1)
        try server.settle()
        #expect(server.host.refusals.count == 1)
        #expect(
            server.host.refusals.first
                == "handshake-time: handshake timeout: no valid greeting within 10000 ms")
        #expect(client.isThrownOut())
    }

    @Test func `a closed connection waits five seconds for a peer that receives nothing`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true, clock: clock.clock)
        let hostilePeer = try HostilePeer(server.host.address, receiveBuffer: 4_096)
        hostilePeer.send(try hostilePeer.words(Peers.configuration()))
        let handler = try #require(server.host.connection())
        // Less than the maximum of a queue, which may have other bytes, and more than all buffers.
        handler.connection.send(Array(repeating: 7, count: 7 << 20))
        handler.connection.close(because: "test is done")
        // The time begins anew until the buffers of the system are full.
        _ = try server.settledLength(of: handler.connection)
        clock.advance(milliseconds: 4_999)
        try server.settle()
        #expect(handler.state.withLock { $0.closed } == 0)
        clock.advance(milliseconds: 1)
        try server.settle()
        #expect(handler.state.withLock { $0.closed } == 1)
        #expect(
            handler.state.withLock { $0.reason }
                == "queue: the peer did not receive the last bytes in time")
    }

    @Test func `a host name has at most 253 letters`() throws {
        let transport = try TCPTransport(
            Peers.configuration(), clock: clock.clock, random: { 0 })
        let longest = String(repeating: "a", count: 253)
        #expect(rule { try transport.add("\(longest):1") } == nil)
        #expect(rule { try transport.add("\(longest)a:1") } == .address)
    }

    @Test func `a host name has visible ASCII characters only`() throws {
        let transport = try TCPTransport(
            Peers.configuration(), clock: clock.clock, random: { 0 })
        for letter in ["!", "~"] {
            #expect(rule { try transport.add("a\(letter)b:1") } == nil, "\(letter)")
        }
        for letter in ["\u{1F}", " ", "\u{7F}", "\u{80}", "é"] {
            #expect(rule { try transport.add("a\(letter)b:1") } == .address, "\(letter)")
        }
        #expect(rule { try transport.add(":1") } == .address)
        #expect(rule { try transport.add("[]:1") } == .address)
    }
}
