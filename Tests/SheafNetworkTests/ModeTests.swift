import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Identity modes and grants, tested over sockets.
struct ModeTests {
    /// A server and a client that dials it.
    private struct ConnectedPair {
        let server: RunningPeer
        let client: RunningPeer

        init(
            _ server: NetworkConfiguration, _ client: NetworkConfiguration,
            clock: Clock = .system
        ) throws {
            self.server = try RunningPeer(server, listens: true, clock: clock)
            self.client = try RunningPeer(
                client, peers: [self.server.host.address], clock: clock)
        }

        /// Whether the server refuses and the client reports it, with no connection on either end.
        func isRefused(_ rule: NetworkRule, local: NetworkRule = .refusedByRemotePeer) -> Bool {
            server.host.wait { $0.refusals.contains { $0.hasPrefix(rule.rawValue + ": ") } }
                && client.host.wait {
                    $0.unreachable.contains { $0.reason.hasPrefix(local.rawValue + ": ") }
                }
                && server.host.state.withLock { $0.connections.isEmpty }
                && client.host.state.withLock { $0.connections.isEmpty }
        }

        func isConnected() -> Bool {
            server.host.connection() != nil && client.host.connection() != nil
        }
    }

    private let key = Result { try SharedKey(Array(repeating: 3, count: 32)) }

    @Test func `a peer of another database is refused`() throws {
        let pair = try ConnectedPair(
            Peers.configuration(), Peers.configuration(databaseID: Peers.otherDatabaseID))
        #expect(pair.isRefused(.database))
    }

    @Test func `a peer with the same shared key is accepted, and another key is refused`() throws {
        let identity = NetworkIdentity.sharedKey(try key.get())
        let right = try ConnectedPair(Peers.configuration(identity), Peers.configuration(identity))
        #expect(right.isConnected())
        let other = NetworkIdentity.sharedKey(try SharedKey(Array(repeating: 4, count: 32)))
        let wrong = try ConnectedPair(Peers.configuration(identity), Peers.configuration(other))
        #expect(wrong.isRefused(.sharedKey))
    }

    @Test func `a peer in another mode is refused`() throws {
        let pair = try ConnectedPair(
            Peers.configuration(.sharedKey(key.get())), Peers.configuration())
        #expect(pair.isRefused(.mode))
    }

    @Test func `a peer with the transport's own key is refused`() throws {
        let keyPair = try PeerKeyPair.generate()
        let pair = try ConnectedPair(
            Peers.configuration(keyPair: keyPair), Peers.configuration(keyPair: keyPair))
        #expect(pair.isRefused(.itself, local: .itself))
        // The transport dials itself.
        let peer = try RunningPeer(Peers.configuration(), listens: true)
        try peer.transport.add(peer.host.address)
        let isRefused = peer.host.wait { $0.unreachable.contains { $0.reason.hasPrefix("self: ") } }
        #expect(isRefused)
        #expect(peer.host.state.withLock { $0.connections.isEmpty })
    }

    private func configuration(
        _ authority: PeerKeyPair, _ valid: Range<UInt64>, rights: PeerRights? = nil,
        trusting: PeerKeyPair? = nil
    ) throws -> NetworkConfiguration {
        let keyPair = try PeerKeyPair.generate()
        let grant = try PeerGrant(
            authority: authority, databaseID: Peers.databaseID, peerKey: keyPair.publicKey,
            validMilliseconds: valid, rights: rights)
        return try Peers.configuration(
            .authority(publicKey: (trusting ?? authority).publicKey, grant: grant),
            keyPair: keyPair)
    }

    @Test func `the rights in a grant reach the other peer`() throws {
        let authority = try PeerKeyPair.generate()
        let always = 0..<UInt64.max
        let rights = PeerRights(
            read: ["cars": "true", "owners": "name = 'Ann'"], write: ["cars": "color = 'blue'"])
        let pair = try ConnectedPair(
            configuration(authority, always), configuration(authority, always, rights: rights))
        #expect(pair.isConnected())
        #expect(pair.server.host.connection()?.connection.remote.rights == rights)
        #expect(pair.client.host.connection()?.connection.remote.rights == nil)
        // Each peer sees the rights of its own grant as well.
        #expect(pair.client.host.connection()?.connection.ownRights == rights)
        #expect(pair.server.host.connection()?.connection.ownRights == nil)
    }

    @Test func `a grant of another authority is refused`() throws {
        let (authority, other) = (try PeerKeyPair.generate(), try PeerKeyPair.generate())
        let always = 0..<UInt64.max
        let pair = try ConnectedPair(
            configuration(authority, always), configuration(other, always))
        #expect(pair.isRefused(.grantAuthority))
    }

    @Test func `a grant is refused before and after its validity period`() throws {
        let authority = try PeerKeyPair.generate()
        let clock = FakeClock(wallMilliseconds: Peers.now)
        let always = 0..<UInt64.max
        let early = try ConnectedPair(
            configuration(authority, always),
            configuration(authority, Peers.now + 1_000..<UInt64.max), clock: clock.clock)
        let refused = early.client.host.wait {
            $0.unreachable.contains { $0.reason.hasPrefix("grant-early: of this peer") }
        }
        #expect(refused)
        let late = try ConnectedPair(
            configuration(authority, 0..<Peers.now), configuration(authority, always),
            clock: clock.clock)
        let isRefused = late.server.host.wait {
            $0.refusals.contains { $0.hasPrefix("grant-expired: of this peer") }
        }
        #expect(isRefused)
        // The client sees an ordinary refusal.
        let isReported = late.client.host.wait { !$0.unreachable.isEmpty }
        #expect(isReported)
    }

    @Test func `a connection ends when a grant expires`() throws {
        let authority = try PeerKeyPair.generate()
        let clock = FakeClock(wallMilliseconds: Peers.now)
        let pair = try ConnectedPair(
            configuration(authority, 0..<UInt64.max),
            configuration(authority, 0..<Peers.now + 60_000), clock: clock.clock)
        let remote = try #require(pair.server.host.connection())
        let local = try #require(pair.client.host.connection())
        local.connection.send([1])
        let came = remote.wait { $0.received == [1] }
        #expect(came)
        clock.advance(milliseconds: 59_999)
        pair.server.transport.wakeAfterClockChange()
        local.connection.send([2])
        let bothCame = remote.wait { $0.received == [1, 2] }
        #expect(bothCame)
        #expect(remote.state.withLock { $0.closed } == 0)
        clock.advance(milliseconds: 1)
        pair.server.transport.wakeAfterClockChange()
        let isOver = remote.wait { $0.closed == 1 } && local.wait { $0.closed == 1 }
        #expect(isOver)
        // Both peers share the clock; the one that checks it first closes the connection.
        let reasons = [local, remote].compactMap { connection in
            connection.state.withLock { $0.reason }
        }
        #expect(reasons.count == 2)
        let reason =
            "grant-expired: a grant of this connection has expired; both ends need a valid grant"
        #expect(reasons.contains(reason))
        #expect(reasons.allSatisfy { $0.hasPrefix("grant-expired: ") || $0.hasPrefix("closed: ") })
        // Later attempts are refused.
        let isRefused = pair.client.pump(clock, milliseconds: 10) {
            $0.unreachable.contains { $0.reason.hasPrefix("grant-expired: ") }
        }
        #expect(isRefused)
    }

    @Test func `a connection refused by the host is closed`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        server.host.state.withLock { $0.takes = false }
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let isReported = client.host.wait {
            $0.unreachable.contains { $0.reason.contains("its host refused") }
        }
        #expect(isReported)
        #expect(client.host.state.withLock { $0.connections.isEmpty })
        server.host.state.withLock { $0.takes = true }
        #expect(client.host.connection() != nil)
    }
}
