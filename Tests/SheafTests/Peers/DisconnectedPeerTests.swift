import Sheaf
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Peers without a connection, as presence reports them.
struct DisconnectedPeerTests {
    /// A transport that reports the events that a test passes.
    private final class FailingTransport: PeerTransport {
        let host = Mutex<(any PeerTransportHost)?>(nil)

        func start(_ host: any PeerTransportHost) { self.host.withLock { $0 = host } }
        func stop() { host.withLock { $0 = nil } }

        func report(_ event: PeerTransportEvent) { host.withLock { $0 }?.report(event) }
    }

    /// Returns the first graph of a peer for which `condition` holds.
    private func graph(
        of peer: Peer, where condition: (PresenceGraph) -> Bool
    ) async throws -> PresenceGraph {
        for await graph in peer.presence.observe() where condition(graph) { return graph }
        throw CancellationError()
    }

    /// Returns the graph of a peer after its thread has handled all earlier events.
    private func graphAfterEvents(of peer: Peer) throws -> PresenceGraph {
        _ = try peer.sync.surveys()
        return peer.presence.graph
    }

    @Test func `a peer whose connection ended is in presence with the reason`() async throws {
        let scene = try await PeerScene(3)
        let (first, second) = (scene.peers[0], scene.peers[1])
        for (left, right) in [(0, 1), (1, 2), (0, 2)] { scene.connect(left, right) }
        let before = try await graph(of: first) { $0.connections.count == 3 }
        #expect(before.disconnectedPeers.isEmpty)
        let start = Int64(Clock.system.wallMilliseconds())
        scene.disconnect(0, 1)
        let after = try await graph(of: first) { $0.localPeer.connections.count == 1 }
        let gone = try #require(after.disconnectedPeers.first)
        #expect(after.disconnectedPeers.count == 1 && gone.key == second.key)
        #expect(gone.reason == "the peers were disconnected" && gone.address == "memory")
        #expect(gone.sinceMilliseconds >= start)
        #expect(gone.sinceMilliseconds <= Int64(Clock.system.wallMilliseconds()))
        #expect(first.presence.disconnectedPeers == after.disconnectedPeers)
        // The third peer still reaches the second, which is therefore in the mesh as well, once.
        let around = try await graph(of: first) { $0[second.key]?.distance == 2 }
        #expect(around.remotePeers.map(\.key).filter { $0 == second.key }.count == 1)
        scene.connect(0, 1)
        _ = try await graph(of: first) {
            $0.disconnectedPeers.isEmpty && $0[second.key]?.distance == 1
        }
        try await scene.close()
    }

    @Test func `an unreachable address is in presence, and is no peer of the mesh`() async throws {
        let transport = FailingTransport()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: .random(), transports: [transport]))
        try peer.sync.start()
        for reason in ["address: refused", "database: another database"] {
            transport.report(
                .unreachable(address: "a:1", reason: reason, nextTryMilliseconds: 250))
        }
        let found = try graphAfterEvents(of: peer)
        let missing = try #require(found.disconnectedPeers.first)
        #expect(found.disconnectedPeers.count == 1)
        #expect(missing.reason == "database: another database")
        #expect(missing.key == nil && missing.address == "a:1")
        let address = try #require(peer.presence.unreachableAddresses.first)
        #expect(missing.sinceMilliseconds == address.firstAttemptMilliseconds)
        #expect(found.remotePeers.isEmpty)
        transport.report(.attemptsEnded(address: "a:1"))
        _ = try await graph(of: peer) { $0.disconnectedPeers.isEmpty }
        try await peer.close()
    }

    @Test
    func `presence has the reason of a refusal, and the refused peer learns only of the refusal`()
        async throws
    {
        let lines = Mutex<[String]>([])
        let log = StoreLog(from: .warning) { _, message, metadata in
            lines.withLock { $0.append("\(message) \(metadata["reason"] ?? "")") }
        }
        let network = MemoryNetwork()
        var peers: [Peer] = []
        for _ in 0..<2 {
            let key = PeerKey.random()
            peers.append(
                try await Peer.inMemory(
                    configuration: PeerConfiguration(
                        databaseID: "cars", key: key, transports: [network.transport(for: key)],
                        store: StoreOptions(log: log))))
        }
        peers.sort { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        // The peer with the greater key decides last, when the other peer already has a connection.
        let (other, strict) = (peers[0], peers[1])
        let refusals = Mutex<[String]>([])
        strict.presence.onConnectionRequest { _ in false }
        strict.presence.onTransportEvent { event in
            if case .refused(_, let reason) = event { refusals.withLock { $0.append(reason) } }
        }
        let (ends, end) = AsyncStream<Void>.makeStream()
        other.presence.onTransportEvent { event in
            if case .disconnected = event { end.finish() }
        }
        for peer in peers { try peer.sync.start() }
        // The other peer is disconnected after the strict one has posted the refusal.
        for await _ in ends {}
        let shown = try graphAfterEvents(of: strict)
        let expected = "the application does not allow \(other.key) to connect"
        #expect(shown.disconnectedPeers.map(\.key) == [other.key])
        #expect(
            shown.disconnectedPeers.first?.reason
                == "this side closed the connection: \(expected)")
        #expect(shown.remotePeers.isEmpty && refusals.withLock { $0 } == [expected])
        #expect(lines.withLock { $0.contains("a connection was refused \(expected)") })
        let refused = try graphAfterEvents(of: other)
        #expect(
            refused.disconnectedPeers.first?.reason
                == "the other side closed the connection: refused by the application")
        let rows = try await strict.store.execute("SELECT * FROM system:data_sync_info")
        #expect(try rows.items.map { try $0.jsonString }.joined().contains(expected))
        for peer in peers { try await peer.close() }
    }
}
