import Sheaf
import SheafNetwork
import SheafTestSupport
import SheafTransport
import Testing

/// Tests of the attempts to reach peers that presence has reported, and of the reports of failures.
struct LearnedReportTests {
    private let clock = FakeClock()
    private let identity = NetworkIdentity.development(allowsOtherMachines: true)
    /// The last two keys; a peer with another key connects to theirs without delay.
    private let last = PeerKey(unchecked: [UInt8](repeating: 255, count: 32))
    private let secondLast = PeerKey(unchecked: [UInt8](repeating: 255, count: 31) + [254])

    /// Starts a peer that connects to reported ones.
    private func client(
        _ change: (inout NetworkLimits) -> Void = { _ in }
    ) throws -> RunningPeer {
        var configuration = try Peers.configuration(identity)
        change(&configuration.limits)
        let client = try RunningPeer(configuration, clock: clock.clock)
        client.transport.setDiscovery(.localNetwork)
        return client
    }

    private func address(of peer: RunningPeer) throws -> PeerAddress {
        let port = try #require(peer.host.address.split(separator: ":").last.flatMap { UInt16($0) })
        return try #require(PeerAddress([127, 0, 0, 1], port: port))
    }

    /// Returns an address at which nothing listens.
    private func dead(_ host: UInt8) throws -> PeerAddress {
        try #require(PeerAddress([127, 0, 0, host], port: 1))
    }

    /// Advances the clock and waits until the loop has handled what is due.
    private func advance(_ client: RunningPeer, milliseconds: UInt64) throws {
        clock.advance(milliseconds: milliseconds)
        // A report of a failure may replace the answer for one of the rounds.
        for _ in 0..<2 { try client.settle() }
    }

    /// Returns the reports of failures, except for those that `settle` causes.
    private func failures(
        of client: RunningPeer
    ) -> [(address: String, reason: String, milliseconds: Int)] {
        client.host.state.withLock { state in
            state.unreachable.filter { $0.address != RunningPeer.probedAddress }
        }
    }

    /// Returns the addresses to which the attempts have ended.
    private func reached(by client: RunningPeer) -> [String] {
        client.host.state.withLock { state in
            state.reached.filter { $0 != RunningPeer.probedAddress }
        }
    }

    private func cause(_ host: UInt8) -> String {
        "address: 127.0.0.\(host):1 cannot be reached: "
    }

    @Test func `failures beyond the limit of a second are counted in the next report`() throws {
        let client = try client { $0.reportsPerSecond = 1 }
        client.transport.propose([last: [try dead(2)], secondLast: [try dead(3)]])
        try client.settle()
        try advance(client, milliseconds: 999)
        #expect(failures(of: client).isEmpty)
        try advance(client, milliseconds: 1)
        try advance(client, milliseconds: 1_000)
        let reports = failures(of: client)
        try #require(reports.count == 2)
        // The delays are half of 5 and of 10 ms.
        #expect(reports.map(\.milliseconds) == [2, 5])
        let causes = [cause(2), cause(3)]
        for failure in reports {
            #expect(["127.0.0.2:1", "127.0.0.3:1"].contains(failure.address))
            #expect(causes.contains { failure.reason.hasPrefix($0) }, "\(failure.reason)")
        }
        #expect(!reports[0].reason.contains("more"))
        #expect(reports[1].reason.hasSuffix(" (and 1 more attempts failed)"))
    }

    @Test func `each attempt begins at the next address, and reports the last cause`() throws {
        let client = try client()
        client.transport.propose([last: [try dead(2), try dead(3)]])
        try client.settle()
        for _ in 0..<3 { try advance(client, milliseconds: 1_000) }
        let reports = failures(of: client)
        try #require(reports.count == 3)
        for (failure, host) in zip(reports, [3, 2, 3] as [UInt8]) {
            #expect(failure.address == "127.0.0.2:1")
            #expect(failure.reason.hasPrefix(cause(host)), "\(failure.reason)")
        }
        #expect(reports.map(\.milliseconds) == [2, 5, 10])
    }

    @Test func `the own key, and a peer without addresses, are not dialed`() throws {
        let server = try RunningPeer(Peers.configuration(identity), listens: true)
        let client = try client()
        client.transport.propose([client.key: [try address(of: server)], last: []])
        try client.settle()
        try advance(client, milliseconds: 1_000)
        try advance(client, milliseconds: 300)
        #expect(failures(of: client).isEmpty)
        #expect(client.transport.connections.allSatisfy { $0.address == RunningPeer.probedAddress })
        #expect(server.host.state.withLock { $0.connections.isEmpty && $0.refusals.isEmpty })
    }

    @Test func `new addresses of a peer end the attempts at the former ones`() throws {
        let server = try RunningPeer(Peers.configuration(identity), listens: true)
        let client = try client()
        client.transport.propose([server.key: [try dead(2)]])
        try client.settle()
        // The peer with the greater key lets the other one connect.
        for milliseconds: UInt64 in [1_000, 300] {
            try advance(client, milliseconds: milliseconds)
        }
        #expect(failures(of: client).first?.address == "127.0.0.2:1")
        #expect(reached(by: client).isEmpty)
        client.transport.propose([server.key: [try address(of: server)]])
        try client.settle()
        #expect(reached(by: client) == ["127.0.0.2:1"])
        try advance(client, milliseconds: 1_000)
        let connection = try #require(client.host.connection())
        #expect(connection.connection.remote.key == server.key)
        // It stays when the peer is reported no more.
        client.transport.propose([:])
        try client.settle()
        #expect(connection.state.withLock { $0.closed } == 0)
        #expect(reached(by: client) == ["127.0.0.2:1"])
    }

    @Test func `attempts end with the reports about a peer`() throws {
        let client = try client()
        client.transport.propose([last: [try dead(2)]])
        try client.settle()
        try advance(client, milliseconds: 1_000)
        #expect(failures(of: client).count == 1)
        client.transport.propose([:])
        try advance(client, milliseconds: 10_000)
        #expect(reached(by: client) == ["127.0.0.2:1"])
        #expect(failures(of: client).count == 1)
        #expect(client.transport.connections.allSatisfy { $0.address == RunningPeer.probedAddress })
    }

    @Test func `at the limit, a peer that cannot be reached makes room for another one`() throws {
        let server = try RunningPeer(Peers.configuration(identity), listens: true)
        let client = try client { $0.discoveredPeers = 1 }
        // The peer with the last key is inserted last, before the other one.
        client.transport.propose([last: [try dead(2)], server.key: [try address(of: server)]])
        try client.settle()
        try advance(client, milliseconds: 1_000)
        #expect(failures(of: client).map(\.address) == ["127.0.0.2:1"])
        #expect(reached(by: client) == ["127.0.0.2:1"])
        try advance(client, milliseconds: 300)
        #expect(client.host.connection()?.connection.remote.key == server.key)
        try advance(client, milliseconds: 10_000)
        #expect(failures(of: client).count == 1)
    }

    @Test func `the report of another peer at an address names the address`() throws {
        let other = try RunningPeer(Peers.configuration(identity), listens: true)
        let client = try client()
        client.transport.propose([last: [try address(of: other)]])
        try client.settle()
        clock.advance(milliseconds: 1_000)
        client.transport.wakeAfterClockChange()
        // `settle` has caused a report too, which may arrive later than it returns.
        let isReported = client.host.wait { state in
            state.unreachable.contains { $0.address != RunningPeer.probedAddress }
        }
        #expect(isReported)
        #expect(
            failures(of: client).first?.reason
                == "other-peer: \(other.host.address) belongs to another peer than presence reports"
        )
        #expect(other.host.state.withLock { $0.connections.isEmpty })
    }
}
